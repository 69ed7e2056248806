//! The engine against problems built backwards from their solution.

mod active_set;

use super::*;
use crate::oracle::{self, Numbers};
use faer::Mat;

/// A program with dense matrices, whose Newton systems are solved by dense LU.
#[derive(Clone)]
struct Dense {
    hessian: Vec<f64>,
    rows: Vec<f64>,
    n: usize,
    theta: Vec<f64>,
}

impl QuadraticProgram for Dense {
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool {
        let product = oracle::times(&self.hessian, x);
        out.iter_mut().zip(&product).for_each(|(o, q)| *o += q);
        self.hessian.iter().any(|q| *q != 0.0)
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&oracle::times(&self.rows, x));
    }

    fn transpose_times(&self, y: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&oracle::transpose_times(&self.rows, y, self.n));
    }

    fn factorize(&mut self, theta: &[f64]) -> bool {
        self.theta = theta.to_vec();
        true
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (n, m) = (rx.len(), ry.len());
        let matrix = Mat::from_fn(n + m, n + m, |i, j| match (i < n, j < n) {
            (true, true) => self.hessian[i * n + j] + if i == j { self.theta[i] } else { 0.0 },
            (true, false) => -self.rows[(j - n) * n + i],
            (false, true) => self.rows[(i - n) * n + j],
            (false, false) => 0.0,
        });
        let step = oracle::solve(matrix.as_ref(), &[rx, ry].concat());
        dx.copy_from_slice(&step[..n]);
        dy.copy_from_slice(&step[n..]);
    }
}

/// What a variable is at the optimum that a problem is built around.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Free,
    Lower,
    Upper,
    /// At zero, and so is its multiplier.
    Degenerate,
}

struct Instance {
    program: Dense,
    data: ProblemData,
    places: Vec<Place>,
    x: Vec<f64>,
    optimum: f64,
}

fn objective(program: &Dense, cost: &[f64], x: &[f64]) -> f64 {
    let mut gradient = vec![0.0; x.len()];
    program.add_hessian_times(x, &mut gradient);
    let terms = x.iter().zip(&gradient).zip(cost);
    terms.map(|((x, g), c)| 0.5 * x * g + c * x).sum()
}

/// A random problem with `rank` directions of curvature whose optimum is known, since
/// $c = A^\top y + z - v - Q x$ makes any $x$ one.
fn backwards(numbers: &mut Numbers, rank: usize, degenerate: bool) -> Instance {
    let (n, m, cap) = (9, 3, 0.8);
    let bounded = 2..6;
    let directions = numbers.signed(rank * n);
    let mut hessian = vec![0.0; n * n];
    for direction in directions.chunks_exact(n) {
        for i in 0..n {
            for j in 0..n {
                hessian[i * n + j] += direction[i] * direction[j];
            }
        }
    }
    let program = Dense {
        hessian,
        rows: numbers.signed(m * n),
        n,
        theta: Vec::new(),
    };
    let place = |i: usize, numbers: &mut Numbers| match numbers.below(4) {
        0 => Place::Lower,
        1 if bounded.contains(&i) => Place::Upper,
        2 if degenerate => Place::Degenerate,
        _ => Place::Free,
    };
    let places: Vec<Place> = (0..n).map(|i| place(i, numbers)).collect();
    let (mut x, mut cost) = (
        Vec::new(),
        oracle::transpose_times(&program.rows, &numbers.signed(m), n),
    );
    for (place, cost) in places.iter().zip(&mut cost) {
        let (size, force) = (0.1 + 0.6 * numbers.next(), 0.2 + numbers.next());
        x.push(match place {
            Place::Free => size,
            Place::Upper => cap,
            Place::Lower | Place::Degenerate => 0.0,
        });
        *cost += match place {
            Place::Lower => force,
            Place::Upper => -force,
            Place::Free | Place::Degenerate => 0.0,
        };
    }
    let mut curved = vec![0.0; n];
    program.add_hessian_times(&x, &mut curved);
    cost.iter_mut().zip(&curved).for_each(|(c, q)| *c -= q);
    let optimum = objective(&program, &cost, &x);
    let data = ProblemData {
        right: oracle::times(&program.rows, &x),
        cost,
        bounded,
        cap,
    };
    Instance {
        program,
        data,
        places,
        x,
        optimum,
    }
}

impl Instance {
    fn start(&self) -> InteriorPoint<Dense> {
        self.start_at(vec![0.4; self.x.len()])
    }

    fn start_at(&self, x: Vec<f64>) -> InteriorPoint<Dense> {
        let data = ProblemData {
            cost: self.data.cost.clone(),
            right: self.data.right.clone(),
            bounded: self.data.bounded.clone(),
            cap: self.data.cap,
        };
        let n = x.len();
        let y = vec![0.0; data.right.len()];
        InteriorPoint::new(self.program.clone(), data, x, vec![1.0; n], y)
    }

    /// Checks bounds, rows and objective of a point.
    fn assert_optimal(&self, x: &[f64], tolerance: f64) {
        for (i, x) in x.iter().enumerate() {
            let cap = if self.data.bounded.contains(&i) {
                self.data.cap
            } else {
                f64::INFINITY
            };
            assert!(*x >= -tolerance && *x <= cap + tolerance, "{i}: {x}");
        }
        let rows = oracle::times(&self.program.rows, x);
        for (row, right) in rows.iter().zip(&self.data.right) {
            assert!((row - right).abs() < tolerance, "{row} {right}");
        }
        let found = objective(&self.program, &self.data.cost, x);
        assert!(
            (found - self.optimum).abs() < tolerance,
            "{found} {}",
            self.optimum
        );
    }
}

/// Steps until the products have vanished, as far as that goes.
fn run(point: &mut InteriorPoint<Dense>, mu: f64) -> usize {
    let mut steps = 0;
    while point.mu() > mu && steps < 60 && point.step() {
        steps += 1;
    }
    steps
}

/// Linear, partly curved and strictly convex problems, with and without a variable that vanishes
/// together with its multiplier: the objective is the one they were built with.
#[test]
fn finds_the_optimum_that_a_problem_was_built_around() {
    let mut numbers = Numbers(1);
    for case in 0..60 {
        let (rank, degenerate) = ([0, 2, 9][case % 3], case % 2 == 1);
        let instance = backwards(&mut numbers, rank, degenerate);
        let mut point = instance.start();
        let first = point.gap();
        let steps = run(&mut point, 1e-13);
        assert!(point.gap() < 1e-9 * first, "case {case}: {}", point.gap());
        assert!(steps < 40, "case {case}: {steps}");
        instance.assert_optimal(&point.x, 1e-7);
        assert!(point.is_feasible() && point.primal_infeasibility() < 1e-9);
        if rank == 9 {
            let apart = point.x.iter().zip(&instance.x).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-5, "case {case}");
        }
    }
}

/// What is reported of a point before any step, from its definition.
#[test]
fn complementarity_and_infeasibility_are_those_of_the_point() {
    let mut numbers = Numbers(9);
    let instance = backwards(&mut numbers, 2, false);
    let mut point = instance.start();
    let products = point.x.iter().zip(&point.z);
    let capped = point.upper_slack.iter().zip(&point.v);
    let (gap, count) = products
        .chain(capped)
        .fold((0.0, 0.0), |(sum, count), (a, b)| {
            (sum + a * b, count + 1.0)
        });
    assert!((point.gap() - gap).abs() < 1e-12 * gap);
    assert!((point.mu() - gap / count).abs() < 1e-12 * gap);
    assert!(!point.is_feasible());
    let rows = oracle::times(&instance.program.rows, &point.x);
    let apart = rows
        .iter()
        .zip(&instance.data.right)
        .map(|(r, b)| (r - b).abs());
    let most = apart.fold(0.0, f64::max);
    assert!((point.primal_infeasibility() - most).abs() < 1e-12);
}

/// A new start on a face: fixed variables lie at their nearer bound without multipliers, all others
/// keep their place and have the product asked for.
#[test]
fn a_start_on_a_face_has_one_product_everywhere() {
    let mut numbers = Numbers(10);
    let instance = backwards(&mut numbers, 0, false);
    let mut point = instance.start();
    run(&mut point, 1e-6);
    let before = point.x.clone();
    let fixed: Vec<bool> = instance.places.iter().map(|p| *p != Place::Free).collect();
    point.start_on_face(fixed.clone(), 0.25);
    for (i, fixed) in fixed.iter().enumerate() {
        if *fixed {
            assert_eq!(point.x[i], instance.x[i], "{i}");
            assert_eq!(point.z[i], 0.0);
        } else {
            assert_eq!(point.x[i], before[i]);
            assert!((point.x[i] * point.z[i] - 0.25).abs() < 1e-12);
        }
        if let Some(j) = instance.data.bounded.clone().position(|b| b == i) {
            let product = if *fixed { 0.0 } else { 0.25 };
            assert!((point.upper_slack[j] * point.v[j] - product).abs() < 1e-12);
            assert!((point.upper_slack[j] + point.x[i] - instance.data.cap).abs() < 1e-6);
        }
    }
    assert!(point.y.iter().all(|y| *y == 0.0));
}

/// The multipliers that are left have the sign of their bound, and the gap is their products' sum:
/// weak duality proves the objective.
#[test]
fn multipliers_prove_the_optimum() {
    let mut numbers = Numbers(2);
    for _ in 0..30 {
        let instance = backwards(&mut numbers, 0, false);
        let mut point = instance.start();
        run(&mut point, 1e-14);
        let reduced = oracle::transpose_times(&instance.program.rows, &point.y, point.x.len());
        let mut bound: f64 = (point.y.iter())
            .zip(&instance.data.right)
            .map(|(y, b)| y * b)
            .sum();
        for (i, (c, r)) in instance.data.cost.iter().zip(&reduced).enumerate() {
            let price = c - r;
            if instance.data.bounded.contains(&i) {
                bound += instance.data.cap * price.min(0.0);
            } else {
                assert!(price > -1e-9, "{i}: {price}");
            }
        }
        assert!(
            (bound - instance.optimum).abs() < 1e-8,
            "{bound} {}",
            instance.optimum
        );
    }
}

/// At a strictly complementary optimum all pairs are told apart and the right variables are at
/// their bounds; a variable that vanishes together with its multiplier is zero either way.
#[test]
fn active_bounds_are_those_of_the_optimal_face() {
    let mut numbers = Numbers(3);
    let mut degenerate_told = 0;
    for case in 0..60 {
        let degenerate = case % 2 == 1;
        let instance = backwards(&mut numbers, 9, degenerate);
        let mut point = instance.start();
        assert!(!point.is_strictly_complementary());
        run(&mut point, 1e-15);
        let active = point.active_bounds();
        for (i, place) in instance.places.iter().enumerate() {
            match place {
                Place::Free => assert!(!active[i], "case {case}, variable {i}"),
                Place::Lower | Place::Upper => assert!(active[i], "case {case}, variable {i}"),
                Place::Degenerate => assert!(point.x[i] < 1e-5, "case {case}: {}", point.x[i]),
            }
        }
        let is_strict = point.is_strictly_complementary();
        if instance.places.contains(&Place::Degenerate) {
            // unless other multipliers of the rows prove the same
            degenerate_told += usize::from(is_strict);
        } else {
            assert!(is_strict, "case {case}");
        }
    }
    assert!(degenerate_told < 5, "{degenerate_told}");
}

/// Fixed variables stay where they are, and the rest becomes what a problem without them says.
#[test]
fn fixed_variables_stay() {
    let mut numbers = Numbers(4);
    for _ in 0..20 {
        let mut instance = backwards(&mut numbers, 9, false);
        instance.data.bounded = 0..0;
        let mut point = instance.start();
        point.x[7] = 0.25;
        point.fix(7..8);
        assert!(point.is_fixed(7) && !point.is_fixed(6));
        run(&mut point, 1e-13);
        assert!((point.x[7] - 0.25).abs() < 1e-300);
        // the same as the optimum of the problem with that variable's part on the right
        let keep: Vec<usize> = (0..9).filter(|i| *i != 7).collect();
        let (hessian, rows) = (&instance.program.hessian, &instance.program.rows);
        let mut reduced = Dense {
            hessian: Vec::new(),
            rows: Vec::new(),
            n: 8,
            theta: Vec::new(),
        };
        for i in &keep {
            reduced
                .hessian
                .extend(keep.iter().map(|j| hessian[i * 9 + j]));
        }
        for row in rows.chunks_exact(9) {
            reduced.rows.extend(keep.iter().map(|j| row[*j]));
        }
        let (cost, right) = (&instance.data.cost, &instance.data.right);
        let data = ProblemData {
            cost: keep
                .iter()
                .map(|i| cost[*i] + 0.25 * hessian[i * 9 + 7])
                .collect(),
            right: (0..3).map(|r| right[r] - 0.25 * rows[r * 9 + 7]).collect(),
            bounded: instance.data.bounded.clone(),
            cap: instance.data.cap,
        };
        let mut other = InteriorPoint::new(reduced, data, vec![0.4; 8], vec![1.0; 8], vec![0.0; 3]);
        run(&mut other, 1e-13);
        if other.gap() < 1e-9 && other.is_feasible() && point.is_feasible() {
            for (k, i) in keep.iter().enumerate() {
                assert!((point.x[*i] - other.x[k]).abs() < 1e-5);
            }
        }
    }
}
