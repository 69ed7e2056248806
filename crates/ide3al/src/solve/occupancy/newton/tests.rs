use super::*;
use crate::domains;
use crate::model::{Counts, Unvisited};

/// A chain of which some pairs were never tried, so that their rows are uniform.
fn half_known(mdp: &Mdp) -> Mdp {
    let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
    let mut counts = Counts::new(&actions);
    for pair in (0..mdp.n_pairs()).filter(|pair| pair % 5 != 2) {
        for (t, p) in mdp.row(pair).entries() {
            counts.add(pair, t, (20.0 * p).ceil() as u64).unwrap();
        }
    }
    counts.estimate(Unvisited::Uniform, mdp.start())
}

/// Potentials of size one that depend on the state alone.
fn potentials(n: usize) -> Vec<f64> {
    (0..n).map(|s| (1.7 * s as f64).sin()).collect()
}

/// The gradient against differences of values, and the Hessian against differences of gradients:
/// along a direction $x$ of the factor $\nabla^2 F x = -\nabla F (1 + \nabla F \cdot x)$, as the
/// factor leaves $-\nabla F \nabla F^\top$ out. Conjugate gradients find the same direction.
#[test]
fn derivatives_are_those_of_the_dual_function() {
    let chain = domains::load("double-chain").unwrap();
    let half = half_known(&chain);
    let garnet = domains::load("garnet:states=30,actions=3,branching=4,seed=2").unwrap();
    let weights = |n: usize| EntropyWeights {
        log_weights: (0..n).map(|s| (s as f64).cos()).collect(),
        actions: 0.3,
    };
    for mdp in [&chain, &half, &garnet] {
        let n = mdp.n_states();
        let copies: Vec<f64> = (0..mdp.n_pairs()).map(|i| 1.0 + (i % 2) as f64).collect();
        for (xi, smoothing, tau, copies) in [
            (0.05, true, 0.2, &[][..]),
            (0.0, true, 0.5, &copies[..]),
            (0.05, false, 1.0, &[][..]),
            (0.05, false, 0.3, &copies[..]),
        ] {
            let target = weights(n);
            let mut newton = Newton::new(mdp, copies, xi, smoothing, &target);
            newton.tau = tau;
            let at = |newton: &mut Newton<'_>, v: &[f64]| {
                newton.v.copy_from_slice(v);
                newton.evaluate();
                (newton.value, newton.gradient.clone())
            };
            let v = potentials(n);
            let moved = |x: &[f64], size: f64| -> Vec<f64> {
                v.iter().zip(x).map(|(v, x)| v + size * x).collect()
            };
            let gradient = at(&mut newton, &v).1;
            let h = 1e-5;
            for t in 0..n {
                let mut unit = vec![0.0; n];
                unit[t] = 1.0;
                let up = at(&mut newton, &moved(&unit, h)).0;
                let down = at(&mut newton, &moved(&unit, -h)).0;
                let slope = (up - down) / (2.0 * h);
                assert!((slope - gradient[t]).abs() < 1e-8, "{t}: {slope}");
            }
            at(&mut newton, &v);
            let (p, d) = (&newton.p, &newton.d);
            newton.system.blocks.set_soft(&newton.free, p, d, tau);
            assert!(newton.system.analyse(DENSE_HESSIAN).is_some());
            assert!(newton.factorize(0.0));
            let mut x = newton.direction.clone();
            // small enough for differences to be nearly linear
            let size = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let h = 1e-5 / size;
            let up = at(&mut newton, &moved(&x, h)).1;
            let down = at(&mut newton, &moved(&x, -h)).1;
            let along: f64 = gradient.iter().zip(&x).map(|(g, x)| g * x).sum();
            for t in 0..n {
                let change = (up[t] - down[t]) / (2.0 * h);
                let wanted = -gradient[t] * (1.0 + along);
                assert!((change - wanted).abs() < 1e-6, "{t}: {change} {wanted}");
            }
            at(&mut newton, &v);
            let (p, d) = (&newton.p, &newton.d);
            newton.system.blocks.set_soft(&newton.free, p, d, tau);
            newton.system.bound_diagonal();
            newton.system.fixed.clear();
            let right: Vec<f64> = gradient.iter().map(|g| -g).collect();
            let mut other = vec![0.0; n];
            let limits = (1e-12, 1_000, usize::MAX);
            let system = &mut newton.system;
            assert!(system.conjugate_gradients(&right, &mut other, limits, || true));
            // both are known up to a constant
            for x in [&mut x, &mut other] {
                let first = x[0];
                x.iter_mut().for_each(|x| *x -= first);
            }
            for (a, b) in x.iter().zip(&other) {
                assert!((a - b).abs() < 1e-7 * size, "{a} {b}");
            }
        }
    }
}
