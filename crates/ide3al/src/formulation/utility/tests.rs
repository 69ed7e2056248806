use super::*;
use crate::domains;

/// A number between 0 and 1 that depends on `i` alone.
fn draw(i: usize) -> f64 {
    (((i as u64).wrapping_mul(2654435761) >> 7) % 10_007) as f64 / 10_007.0
}

/// A distribution over pairs without zeros.
fn distribution(n: usize, seed: usize) -> Vec<f64> {
    let weights: Vec<f64> = (0..n).map(|i| 0.01 + draw(seed * n + i)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|x| x / sum).collect()
}

/// Fenchel and Young: $f(\omega) + f^*(r) \le \langle r, \omega \rangle$ for every reward, with
/// equality where $r$ is the gradient, which is that of differences. A constant in the reward moves
/// both sides alike.
#[test]
fn conjugates_satisfy_fenchel_and_young() {
    let mdp = domains::load("river-swim").unwrap();
    let pairs = mdp.n_pairs();
    let numbers = |seed: usize| -> Vec<f64> { (0..pairs).map(|i| draw(seed + 13 * i)).collect() };
    let target: Vec<f64> = (0..mdp.n_states()).map(|s| 1.0 + draw(s)).collect();
    let average = Average::new(numbers(5));
    let (even, pair_entropy) = (Entropies::new(&mdp, 0.0), Entropies::new(&mdp, 1.0));
    let (mixed, towards) = (Entropies::new(&mdp, 0.4), Entropies::towards(&mdp, &target));
    let coverage = Coverage::new(numbers(3));
    let error = ModelError::new(numbers(9));
    let beside = ModelError::beside(numbers(9), numbers(21).iter().map(|m| 0.1 * m).collect());
    // that of coverage is only defined where rewards are scaled exactly
    let utilities: [(&str, &dyn Conjugate, bool); 8] = [
        ("average", &average, true),
        ("state-entropy", &even, true),
        ("dual", &pair_entropy, true),
        ("mixed", &mixed, true),
        ("target", &towards, true),
        ("coverage", &coverage, false),
        ("model-error", &error, true),
        ("model-error with samples had", &beside, true),
    ];
    for (name, utility, tight) in utilities {
        for seed in 0..200 {
            let omega = distribution(pairs, seed);
            let value = utility.value(&omega);
            let mut gradient = vec![0.0; pairs];
            utility.gradient(&omega, &mut gradient);
            let conjugate = utility.conjugate(&gradient);
            let size = 1e-11 * (1.0 + value.abs() + conjugate.abs());
            let product = dot(&gradient, &omega);
            assert!(value + conjugate <= product + size, "{name}");
            if tight {
                assert!(
                    (product - value - conjugate).abs() <= size,
                    "{name}: {value}"
                );
            }
            let mut r: Vec<f64> = (0..pairs).map(|i| 2.0 * draw(31 * seed + i)).collect();
            if name == "coverage" {
                let sum = dot(&r, &numbers(3));
                r.iter_mut().for_each(|r| *r /= sum);
            }
            let product = dot(&r, &omega);
            assert!(value + utility.conjugate(&r) <= product + size, "{name}");
            // of what is worth at most this the bound is at least the value
            assert!(value <= utility.at_most(&r, product) + size, "{name}");
            let at_gradient = utility.at_most(&gradient, dot(&gradient, &omega));
            assert!((at_gradient - value).abs() <= size, "{name}: {at_gradient}");
            // supergradient: no point lies above the tangent
            let other = distribution(pairs, seed + 1_000);
            let ends = other.iter().zip(&omega).map(|(y, x)| y - x);
            let rise: f64 = ends.zip(&gradient).map(|(d, g)| d * g).sum();
            assert!(utility.value(&other) <= value + rise + size, "{name}");
        }
    }
}

/// The preferred occupancy has the greatest utility of random ones, and a conjugate at zero that is
/// its value; those of coverage and of samples had are only near it.
#[test]
fn the_preferred_occupancy_is_best() {
    let mdp = domains::load("double-chain").unwrap();
    let pairs = mdp.n_pairs();
    for tau in [0.0, 0.3, 1.0] {
        let utility = Entropies::new(&mdp, tau);
        let mut best = vec![0.0; pairs];
        utility.preferred(&mut best);
        assert!((best.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let value = utility.value(&best);
        assert!((value + utility.conjugate(&vec![0.0; pairs])).abs() < 1e-12);
        for seed in 0..100 {
            assert!(utility.value(&distribution(pairs, seed)) <= value + 1e-12);
        }
    }
}
