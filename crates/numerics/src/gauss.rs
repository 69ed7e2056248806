//! Small dense systems that are neither symmetric nor definite.

/// Solves a small system by elimination with row exchanges; unknowns without a pivot are zero.
pub fn gauss(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for k in 0..n {
        let best = (k..n)
            .max_by(|&i, &j| {
                let size = |i: usize| matrix[i * n + k].abs();
                size(i).total_cmp(&size(j))
            })
            .unwrap_or(k);
        if matrix[best * n + k] == 0.0 {
            continue;
        }
        for j in 0..n {
            matrix.swap(k * n + j, best * n + j);
        }
        right.swap(k, best);
        for i in k + 1..n {
            let factor = matrix[i * n + k] / matrix[k * n + k];
            for j in k..n {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
            right[i] -= factor * right[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| matrix[k * n + j] * right[j]).sum();
        let pivot = matrix[k * n + k];
        right[k] = if pivot == 0.0 {
            0.0
        } else {
            (right[k] - rest) / pivot
        };
    }
    right
}

#[cfg(test)]
mod tests {
    use super::gauss;

    #[test]
    fn rows_are_exchanged_where_a_pivot_is_missing() {
        // 0 2 1; 1 1 0; 2 0 3 times (1, -2, 4)
        let matrix = vec![0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 2.0, 0.0, 3.0];
        let found = gauss(matrix, vec![0.0, -1.0, 14.0]);
        for (x, expected) in found.iter().zip([1.0, -2.0, 4.0]) {
            assert!((x - expected).abs() < 1e-12, "{found:?}");
        }
        // by the largest entry of the column, or the small one would leave only rounding
        let matrix = vec![1e-20, 1.0, 1.0, 0.0, 0.0, 3.0, 1.0, 1.0, 0.0];
        let found = gauss(matrix, vec![5.0, 9.0, 3.0]);
        for (x, expected) in found.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - expected).abs() < 1e-12, "{found:?}");
        }
        // an unknown that no equation holds stays at zero
        assert_eq!(gauss(vec![2.0, 0.0, 0.0, 0.0], vec![4.0, 0.0]), [2.0, 0.0]);
    }
}
