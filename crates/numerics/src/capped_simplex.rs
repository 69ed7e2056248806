//! What a row may drop: each slot at most so much, all together at most a budget.

/// Replaces `row` by its nearest point with $0 \le w \le$ `most`, $\sum w \le$ `budget`.
pub fn project_capped_simplex(row: &mut [f64], most: &[f64], budget: f64) {
    // sum of clamp(x - tau, 0, most) and how many are strictly between
    let filled = |row: &[f64], tau: f64| {
        let (mut sum, mut between) = (0.0, 0usize);
        for (x, most) in row.iter().zip(most) {
            let moved = x - tau;
            sum += moved.clamp(0.0, most.max(0.0));
            between += usize::from(moved > 0.0 && moved < *most);
        }
        (sum, between)
    };
    let (mut low, mut tau) = (0.0, 0.0);
    let mut high = row.iter().copied().fold(0.0, f64::max);
    let (mut sum, mut between) = filled(row, tau);
    if sum > budget {
        // Newton's steps on a falling, piecewise linear function, kept in a bracket
        for _ in 0..60 {
            if sum > budget {
                low = tau;
            } else {
                high = tau;
            }
            let next = tau + (sum - budget) / between.max(1) as f64;
            let next = if between > 0 && next > low && next < high {
                next
            } else {
                0.5 * (low + high)
            };
            if next == tau || (sum - budget).abs() <= 1e-15 * budget {
                break;
            }
            tau = next;
            (sum, between) = filled(row, tau);
        }
    }
    for (x, most) in row.iter_mut().zip(most) {
        *x = (*x - tau).clamp(0.0, most.max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions of the nearest point: a common shift, which is zero unless the budget is
    /// spent.
    #[test]
    fn nearest_point_within_the_budget() {
        let number = |i: usize| (i as f64 * 0.618_033_988_75).fract();
        for case in 0..500 {
            let given: Vec<f64> = (0..7).map(|k| 2.0 * number(7 * case + k) - 0.5).collect();
            let most: Vec<f64> = (0..7).map(|k| number(11 * case + 3 * k)).collect();
            let budget = 3.0 * number(13 * case + 1);
            let mut found = given.clone();
            project_capped_simplex(&mut found, &most, budget);
            let spent: f64 = found.iter().sum();
            assert!(spent <= budget + 1e-12);
            let shifts: Vec<f64> = (0..7)
                .filter(|k| found[*k] > 0.0 && found[*k] < most[*k])
                .map(|k| given[k] - found[k])
                .collect();
            let shift = shifts.first().copied().unwrap_or(0.0);
            assert!(shift > -1e-12 && (shift < 1e-12 || spent > budget - 1e-9));
            for (k, x) in found.iter().enumerate() {
                assert!(*x >= 0.0 && *x <= most[k]);
                if !shifts.is_empty() {
                    let expected = (given[k] - shift).clamp(0.0, most[k]);
                    assert!((x - expected).abs() < 1e-9, "case {case}, slot {k}");
                }
            }
        }
    }
}
