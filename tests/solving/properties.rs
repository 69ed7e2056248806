//! What must hold on every model: weak duality, invariance under relabelling, monotonicity.

#![allow(clippy::unwrap_used)]

use ide3al::chain::{entropy, stationary::long_run};
use ide3al::formulation::{
    Formulation, Problem, column_sum, entropy as entropy_bound,
    infinity::{self, DualPoint},
    support::Support,
};
use ide3al::model::{Mdp, Policy};
use ide3al::solve::birkhoff::{completion, distance::Evaluator};
use ide3al::solve::{Certificate, Options, SolverChoice, Status, TieBreak, solve};
use proptest::prelude::*;

/// Random models: 2 to 9 states, 1 to 3 actions each (uneven), 1 to 3 successors, with
/// probabilities that may be tiny.
fn models() -> impl Strategy<Value = Mdp> {
    (2usize..=9).prop_flat_map(|n| {
        let row = prop::collection::vec((0..n, prop_oneof![0.1..1.0f64, Just(1e-9)]), 1..=3);
        let state = prop::collection::vec(row, 1..=3);
        prop::collection::vec(state, n).prop_map(move |states| {
            let mut triplets = Vec::new();
            for (s, rows) in states.iter().enumerate() {
                for (a, row) in rows.iter().enumerate() {
                    let sum: f64 = row.iter().map(|e| e.1).sum();
                    triplets.extend(row.iter().map(|&(t, p)| (s, a, t, p / sum)));
                }
            }
            Mdp::from_triplets(n, 3, triplets).unwrap()
        })
    })
}

/// A policy in the interior, from irregular numbers.
fn some_policy(mdp: &Mdp, salt: f64) -> Policy {
    let mut p: Vec<f64> = (0..mdp.n_pairs())
        .map(|i| ((i as f64 + 1.0) * salt).fract() + 0.05)
        .collect();
    for s in 0..mdp.n_states() {
        let row = &mut p[mdp.pairs(s)];
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    Policy::new(mdp, p).unwrap()
}

fn certificate(mdp: &Mdp, problem: &Problem, tie_break: TieBreak) -> (Certificate, f64) {
    let options = Options {
        solver: SolverChoice::Auto,
        tie_break,
        ..Options::default()
    };
    let solution = solve(mdp, problem, &options, None, &mut ()).unwrap();
    let d = long_run(&mdp.chain(&solution.policy)).distribution;
    (solution.certificate, entropy::entropy(&d))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any dual point's bound lies below (above, for entropies) any policy's value.
    #[test]
    fn weak_duality(mdp in models(), salt in 0.1..1.0f64, dual in prop::collection::vec(-1.5..1.5f64, 40)) {
        let n = mdp.n_states();
        let policy = some_policy(&mdp, salt);
        prop_assert!(column_sum::bound(&mdp, 0.0, &dual[..n]) <= column_sum::value(&mdp, policy.probabilities()) + 1e-12);
        // Infinity: what a policy keeps of itself under column caps is feasible for zeta = 1
        let support = Support::filled(&mdp);
        let (mut mass, mut spread) = (vec![0.0; support.len()], vec![0.0; n]);
        support.assemble(&mdp, policy.probabilities(), &mut mass, &mut spread);
        let mut kept = mass.clone();
        infinity::repair(&support, &[], 1.0, &mass, &mut kept);
        let (value, block) = completion::objective(&support, 1.0, &kept);
        prop_assert!(block.is_none());
        let point = DualPoint { rows: dual[..n].to_vec(), columns: dual[n..2 * n].to_vec(), ..DualPoint::default() };
        prop_assert!(infinity::bound(&mdp, &support, 0.0, 1.0, &point) <= value + 1e-12);
        let plain = entropy_bound::EntropyWeights::default();
        for formulation in [Formulation::Dual, Formulation::StateEntropy] {
            let (value, _) = entropy_bound::value_towards(&mdp, formulation, &plain, &policy);
            prop_assert!(value <= entropy_bound::bound_towards(&mdp, formulation, &plain, 0.0, &dual[..n]) + 1e-9);
        }
        // Frobenius: what one policy proves, no other may undercut
        let frobenius = Support::new(&mdp);
        let mut evaluator = Evaluator::new(&mdp, &frobenius, 1.0);
        let mut certify = |policy: &Policy| {
            evaluator.project(policy.probabilities(), 1e-13, 200);
            evaluator.certify(0.0)
        };
        let other = some_policy(&mdp, 1.0 - 0.9 * salt);
        let (found, other) = (certify(&policy), certify(&other));
        prop_assert!(found.violation < 1e-9, "projection off by {}", found.violation);
        prop_assert!(found.bound <= other.objective + 1e-9);
        prop_assert!(other.bound <= found.objective + 1e-9);
    }

    /// Each solve is optimal, and certificates stand on the right side of each other.
    #[test]
    fn every_solve_is_certified(mdp in models(), xi in prop_oneof![Just(0.0), 0.0..0.3f64], share in 0.0..1.0f64) {
        let least = 1.0 / mdp.n_states() as f64;
        for formulation in Formulation::ALL {
            let zeta = if formulation.takes_zeta() { least + share * (1.0 - least) } else { 1.0 };
            let (c, _) = certificate(&mdp, &Problem { formulation, xi, zeta }, TieBreak::None);
            // entropies of chains that hang together by 1e-9 can be beyond floating point: then
            // the status must say so
            let admitted = formulation.maximises() && c.status == Status::Stalled;
            prop_assert!(c.gap <= 1e-7 || admitted, "{formulation:?} xi {xi} zeta {zeta}: {c:?}");
            let excess = if formulation.maximises() { c.objective - c.bound } else { c.bound - c.objective };
            prop_assert!(excess <= 1e-9, "{formulation:?}: {c:?}");
        }
    }

    /// Raising xi or lowering zeta never helps.
    #[test]
    fn objectives_are_monotone(mdp in models(), xi in 0.0..0.25f64, share in 0.0..1.0f64) {
        let least = 1.0 / mdp.n_states() as f64;
        let zeta = least + share * (1.0 - least);
        for formulation in Formulation::ALL {
            let value = |xi: f64, zeta: f64| {
                let zeta = if formulation.takes_zeta() { zeta } else { 1.0 };
                let (c, _) = certificate(&mdp, &Problem { formulation, xi, zeta }, TieBreak::None);
                // the two ends of what is proven
                if formulation.maximises() {
                    (-c.bound, -c.objective)
                } else {
                    (c.bound, c.objective)
                }
            };
            let base = value(xi, zeta);
            prop_assert!(value(0.0, zeta).0 <= base.1 + 1e-9);
            prop_assert!(base.0 <= value(0.3, zeta).1 + 1e-9);
            prop_assert!(value(xi, 1.0).0 <= base.1 + 1e-9);
        }
    }

    /// Relabelling states and actions changes nothing but labels.
    #[test]
    fn labels_do_not_matter(mdp in models(), shift in 1usize..8) {
        let n = mdp.n_states();
        let rename = |s: usize| (s + shift) % n;
        let mut triplets = Vec::new();
        for s in 0..n {
            for pair in mdp.pairs(s) {
                let action = 2 - mdp.actions()[pair] as usize;
                for (t, p) in mdp.row(pair).entries() {
                    triplets.push((rename(s), action, rename(t), p));
                }
            }
        }
        let renamed = Mdp::from_triplets(n, 3, triplets).unwrap();
        for formulation in Formulation::ALL {
            let zeta = if formulation.takes_zeta() { (2.0 / n as f64).min(1.0) } else { 1.0 };
            let problem = Problem { formulation, xi: 0.1, zeta };
            let (a, _) = certificate(&mdp, &problem, TieBreak::Uniform);
            let (b, _) = certificate(&renamed, &problem, TieBreak::Uniform);
            let slack = a.gap + b.gap + 1e-9;
            prop_assert!((a.objective - b.objective).abs() <= slack, "{formulation:?}: {a:?} {b:?}");
        }
    }
}
