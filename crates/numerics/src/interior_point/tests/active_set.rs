//! Active sets against the enumeration of all of them.

use super::*;

/// The least value of a strictly convex problem over all guesses of what is at which bound.
fn enumerate(instance: &Instance) -> Option<Vec<f64>> {
    let (n, m) = (instance.x.len(), instance.data.right.len());
    let (program, data) = (&instance.program, &instance.data);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for code in 0..3usize.pow(n as u32) {
        let place = |i: usize| code / 3usize.pow(i as u32) % 3;
        if (0..n).any(|i| place(i) == 2 && !data.bounded.contains(&i)) {
            continue;
        }
        let held = |i: usize| place(i) > 0;
        if (0..n).filter(|i| !held(*i)).count() < m {
            continue;
        }
        let matrix = Mat::from_fn(n + m, n + m, |i, j| match (i < n, j < n) {
            (true, _) if held(i) => f64::from(u8::from(i == j)),
            (true, true) => program.hessian[i * n + j],
            (true, false) => -program.rows[(j - n) * n + i],
            (false, true) => program.rows[(i - n) * n + j],
            (false, false) => 0.0,
        });
        let right: Vec<f64> = (0..n)
            .map(|i| match place(i) {
                0 => -data.cost[i],
                1 => 0.0,
                _ => data.cap,
            })
            .chain(data.right.iter().copied())
            .collect();
        let x = oracle::solve(matrix.as_ref(), &right);
        let fits = |i: usize| {
            let cap = if data.bounded.contains(&i) {
                data.cap
            } else {
                f64::INFINITY
            };
            x[i] >= -1e-9 && x[i] <= cap + 1e-9
        };
        let rows = oracle::times(&program.rows, &x[..n]);
        let holds = rows
            .iter()
            .zip(&data.right)
            .all(|(r, b)| (r - b).abs() < 1e-7);
        if (0..n).all(fits) && holds {
            let value = objective(program, &data.cost, &x[..n]);
            if best.as_ref().is_none_or(|(least, _)| value < *least) {
                best = Some((value, x[..n].to_vec()));
            }
        }
    }
    best.map(|(_, x)| x)
}

/// A strictly convex problem of six variables with a diagonal Hessian: the nearest point of a face.
fn projection(numbers: &mut Numbers) -> Instance {
    let (n, m) = (6, 2);
    let mut hessian = vec![0.0; n * n];
    (0..n).for_each(|i| hessian[i * n + i] = 0.5 + numbers.next());
    let program = Dense {
        hessian,
        rows: numbers.signed(m * n),
        n,
        theta: Vec::new(),
    };
    let inside: Vec<f64> = (0..n).map(|_| 0.1 + 0.6 * numbers.next()).collect();
    let data = ProblemData {
        right: oracle::times(&program.rows, &inside),
        cost: numbers.signed(n).iter().map(|c| 1.5 * c).collect(),
        bounded: 1..4,
        cap: 0.8,
    };
    Instance {
        program,
        data,
        places: Vec::new(),
        x: inside,
        optimum: f64::NAN,
    }
}

/// Active sets end on the best of all guesses, in few steps, wherever they end; where they do not,
/// nothing has moved.
#[test]
fn active_sets_find_what_enumeration_finds() {
    let mut numbers = Numbers(5);
    let (mut found, mut steps) = (0, 0);
    for case in 0..40 {
        let instance = projection(&mut numbers);
        let expected = enumerate(&instance).unwrap();
        let mut point = instance.start_at(instance.x.clone());
        point.start_on_face(vec![false; 6], 1e-3);
        let before = point.iterate();
        if let Some(taken) = point.solve_with_active_set(&[], 100, || true) {
            (found, steps) = (found + 1, steps + taken);
            // where the rows nearly depend on each other the point is known less well than its
            // value
            let value = |x: &[f64]| objective(&instance.program, &instance.data.cost, x);
            assert!(
                (value(&point.x) - value(&expected)).abs() < 1e-9,
                "case {case}"
            );
            let apart = point.x.iter().zip(&expected).map(|(x, e)| (x - e).abs());
            assert!(
                apart.fold(0.0, f64::max) < 1e-5,
                "case {case}: {:?} {expected:?}",
                point.x
            );
            assert!(point.is_feasible());
        } else {
            assert_eq!(point.iterate(), before, "case {case}");
        }
        // the interior-point method gets there in any case
        let mut point = instance.start();
        run(&mut point, 1e-14);
        for (x, e) in point.x.iter().zip(&expected) {
            assert!((x - e).abs() < 1e-5, "case {case}");
        }
        // and from its guess active sets end at once
        let guess = point.active_bounds();
        point.start_on_face(vec![false; 6], 1e-3);
        let taken = point.solve_with_active_set(&guess, 100, || true);
        assert!(
            taken.is_some_and(|taken| taken <= 2),
            "case {case}: {taken:?}"
        );
    }
    assert!(
        found >= 30 && steps <= 6 * found,
        "{found} in {steps} steps"
    );
}

/// A solve that is to stop stops, and is as it was.
#[test]
fn active_sets_stop_when_told_to() {
    let instance = projection(&mut Numbers(6));
    let mut point = instance.start();
    point.start_on_face(vec![false; 6], 1e-3);
    let before = point.iterate();
    assert_eq!(point.solve_with_active_set(&[], 0, || true), None);
    assert_eq!(point.solve_with_active_set(&[], 100, || false), None);
    assert_eq!(point.iterate(), before);
}

/// Where the face keeps a variable fixed it is not let go, whatever its multiplier says.
#[test]
fn active_sets_stay_on_the_face() {
    let mut numbers = Numbers(7);
    for _ in 0..10 {
        let mut instance = projection(&mut numbers);
        // without rows that ask for it, and pushed up by the objective
        instance.data.cost[5] = -3.0;
        (0..2).for_each(|r| instance.program.rows[r * 6 + 5] = 0.0);
        instance.data.right = oracle::times(&instance.program.rows, &instance.x);
        let mut point = instance.start_at(instance.x.clone());
        point.x[5] = 0.0;
        let mut fixed = vec![false; 6];
        fixed[5] = true;
        point.start_on_face(fixed, 1e-3);
        if point.solve_with_active_set(&[], 100, || true).is_some() {
            assert!(point.x[5].abs() < 1e-300, "{}", point.x[5]);
        }
        assert!(point.is_fixed(5));
    }
}
