use super::*;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

/// A matrix with random entries below the diagonal's size, on a given pattern.
struct Case {
    n: usize,
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Case {
    fn new(n: usize, edges: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut sums = vec![0.0; n];
        for (k, (s, t)) in edges.enumerate() {
            let value = -0.5 - 0.5 * ((k as f64) * 1.7).sin();
            rows.push(s as u32);
            columns.push(t as u32);
            values.push(value);
            sums[s] -= value;
        }
        let diagonal = sums.iter().map(|sum| sum + 0.05).collect();
        Case {
            n,
            rows,
            columns,
            values,
            diagonal,
        }
    }

    fn dense(&self) -> Mat<f64> {
        let mut a = Mat::zeros(self.n, self.n);
        for k in 0..self.rows.len() {
            a[(self.rows[k] as usize, self.columns[k] as usize)] += self.values[k];
        }
        for v in 0..self.n {
            a[(v, v)] += self.diagonal[v];
        }
        a
    }

    /// Compares everything with the dense inverse; returns the diagonal's bits.
    fn check(&self) -> Vec<u64> {
        let n = self.n;
        let g = self.dense().partial_piv_lu().inverse();
        let symbolic = Symbolic::new(n, &self.rows, &self.columns);
        let mut factor = Factor::new(&symbolic);
        assert!(factor.eliminate(&symbolic, &self.values, &self.diagonal));
        let mut diagonal = vec![0.0; n];
        factor.invert(&symbolic, &mut diagonal);
        let size = (0..n).map(|v| g[(v, v)]).fold(0.0, f64::max);
        for v in 0..n {
            assert!((diagonal[v] - g[(v, v)]).abs() < 1e-12 * size);
        }
        let v: Vec<f64> = (0..n).map(|v| (v as f64 * 0.3).cos()).collect();
        let weighted = Mat::from_fn(n, n, |i, j| v[i] * g[(i, j)]);
        let k = &g * &weighted;
        let mut dot = vec![0.0; self.rows.len()];
        // a second call must not remember the first
        factor.derivative(&symbolic, &diagonal, &mut dot);
        factor.derivative(&symbolic, &v, &mut dot);
        for (e, x) in dot.iter().enumerate() {
            let expected = k[(self.columns[e] as usize, self.rows[e] as usize)];
            assert!((x - expected).abs() < 1e-11 * size * size, "{x} {expected}");
        }
        let (mut x, mut y) = (v.clone(), v.clone());
        factor.solve(&symbolic, &mut x);
        factor.solve_transposed(&symbolic, &mut y);
        for i in 0..n {
            let expected: f64 = (0..n).map(|j| g[(i, j)] * v[j]).sum();
            assert!((x[i] - expected).abs() < 1e-11 * size);
            let expected: f64 = (0..n).map(|j| g[(j, i)] * v[j]).sum();
            assert!((y[i] - expected).abs() < 1e-11 * size);
        }
        diagonal.iter().map(|x| x.to_bits()).collect()
    }
}

fn grid(rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows * columns).flat_map(move |v| {
        let (r, c) = (v / columns, v % columns);
        let near = [
            (r > 0).then(|| v - columns),
            (c > 0).then(|| v - 1),
            (c + 1 < columns).then_some(v + 1),
            (r + 1 < rows).then_some(v + columns),
            Some(v),
        ];
        near.into_iter().flatten().map(move |t| (v, t))
    })
}

#[test]
fn grids_paths_dense_and_directed_patterns_match_the_dense_inverse() {
    Case::new(17 * 23, grid(17, 23)).check();
    Case::new(1, std::iter::empty()).check();
    Case::new(300, (0..299).map(|v| (v, v + 1))).check();
    Case::new(90, (0..90 * 90).map(|k| (k / 90, k % 90))).check();
    // a hub that everybody leads to, on a ring, entries given twice
    let ring = (0..200).flat_map(|v| [(v, (v + 1) % 200), (v, 200), (v, 200)]);
    Case::new(201, ring.chain((0..200).step_by(3).map(|v| (200, v)))).check();
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| Case::new(900, grid(30, 30)).check())
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn a_singular_matrix_is_refused() {
    let mut case = Case::new(60, (0..59).flat_map(|v| [(v, v + 1), (v + 1, v)]));
    for v in 0..60 {
        case.diagonal[v] -= 0.05;
    }
    case.diagonal[59] -= 0.4;
    let symbolic = Symbolic::new(60, &case.rows, &case.columns);
    let mut factor = Factor::new(&symbolic);
    assert!(!factor.eliminate(&symbolic, &case.values, &case.diagonal));
}
