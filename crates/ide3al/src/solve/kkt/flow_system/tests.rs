use super::*;
use crate::model::{Counts, Unvisited};

/// A number between 0 and 1 that depends on `i` alone.
fn draw(i: usize) -> f64 {
    (((i as u64).wrapping_mul(2654435761) >> 7) % 10_007) as f64 / 10_007.0
}

/// Each state leads to `successors` others under each of three actions; some pairs were never
/// tried, and have uniform rows.
fn model(n: usize, successors: usize, uniform: bool) -> Mdp {
    let mut counts = Counts::new(&vec![3; n]);
    for pair in 0..3 * n {
        if uniform && pair % 7 == 3 {
            continue;
        }
        for k in 0..successors {
            let t = (pair / 3 + 1 + (draw(pair * 31 + k) * (n - 1) as f64) as usize) % n;
            let times = 1 + (9.0 * draw(pair + k)) as u64;
            counts.add(pair, t, times).unwrap();
        }
    }
    let start: Vec<f64> = (0..n).map(|s| 1.0 + draw(s)).collect();
    let sum: f64 = start.iter().sum();
    let start: Vec<f64> = start.iter().map(|x| x / sum).collect();
    counts.estimate(Unvisited::Uniform, &start)
}

/// What the factor and conjugate gradients solve is what products with $A$, the blocks and
/// $A^\top$ make, on sparse and dense models, with wide cliques, uniform rows and restarts.
#[test]
fn both_solutions_satisfy_the_equations() {
    for (n, successors, uniform, restart) in [
        (40, 2, false, 0.0),
        (40, 2, true, 0.0),
        (40, 3, true, 0.1),
        (150, 60, false, 0.05),
        (150, 60, true, 0.0),
    ] {
        let mdp = model(n, successors, uniform);
        assert_eq!(mdp.kernel().has_spread(), uniform);
        let mut system = FlowSystem::new(&mdp, restart);
        let of_pairs = |from: usize| (0..mdp.n_pairs()).map(move |i| 0.1 + draw(from + i));
        let (h, w): (Vec<f64>, Vec<f64>) = (of_pairs(1).collect(), of_pairs(5_000).collect());
        let g: Vec<f64> = (0..n).map(|s| draw(s + 77)).collect();
        assert!(system.blocks.invert(0.1, &h, &g, &w));
        let times = |system: &FlowSystem<'_>, x: &[f64]| {
            let (mut pairs, mut out) = (vec![0.0; mdp.n_pairs()], vec![0.0; n]);
            system.columns(x, &mut pairs);
            system.blocks.divide(&mut pairs);
            system.rows(&pairs, &mut out);
            system.add_fixed(x, 1.0, &mut out);
            out
        };
        assert!(system.analyse(AT_MOST).is_some());
        system.bound_diagonal();
        let bounds = system.diagonal.clone();
        system.assemble();
        let within = bounds.iter().zip(&system.diagonal);
        assert!(uniform || within.into_iter().all(|(b, x)| x <= &(b * (1.0 + 1e-12))));
        if restart == 0.0 {
            system.fixed = vec![(3, system.diagonal[3])];
        }
        // the diagonal, but for what uniform shares add to it
        for s in (0..n).step_by(11).filter(|_| !uniform) {
            let mut unit = vec![0.0; n];
            unit[s] = 1.0;
            let fixed: f64 = system.fixed.iter().filter(|f| f.0 == s).map(|f| f.1).sum();
            let entry = times(&system, &unit)[s] - fixed;
            let size = entry.abs();
            assert!((entry - system.diagonal[s]).abs() < 1e-12 * size, "{s}");
        }
        let right: Vec<f64> = (0..n).map(|s| draw(s + 9) - 0.5).collect();
        let close = |x: &[f64], system: &FlowSystem<'_>, tolerance: f64| {
            let back = times(system, x);
            let miss = back.iter().zip(&right).map(|(a, b)| (a - b).abs());
            let miss = miss.fold(0.0, f64::max);
            assert!(miss < tolerance, "{n} {uniform} {restart}: {miss}");
        };
        let mut iterated = vec![0.0; n];
        let limits = (1e-13, 2_000, usize::MAX);
        assert!(system.conjugate_gradients(&right, &mut iterated, limits, || true));
        close(&iterated, &system, 1e-9);
        assert!(system.factorize(|_, _| 0.0, 1e-300));
        let mut factored = right.clone();
        assert!(system.solve_factored(&mut factored));
        close(&factored, &system, 1e-9);
        // with the factor as preconditioner hardly any steps are left
        let limits = (1e-12, 3, usize::MAX);
        assert!(system.conjugate_gradients(&right, &mut iterated, limits, || true));
        close(&iterated, &system, 1e-9);
    }
}

/// States up to which these systems may be dense.
const AT_MOST: usize = 1_000;
