//! Models that nobody would make on purpose.

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;

/// A source of choices: a random generator, or the bytes of a fuzzer.
pub(crate) trait Source {
    /// A number in $[0, 1)$.
    fn unit(&mut self) -> f64;

    /// One of `0..n`.
    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// Whether something of this probability happens.
    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

impl Source for rand_chacha::ChaCha8Rng {
    fn unit(&mut self) -> f64 {
        use rand::Rng;
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Bytes of a fuzzer; zeros when they run out.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Source for Bytes<'_> {
    fn unit(&mut self) -> f64 {
        let take = self.0.len().min(2);
        let (head, rest) = self.0.split_at(take);
        self.0 = rest;
        let number = head.iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
        f64::from(number) / 65_536.0
    }
}

/// Kinds of models.
pub(crate) const FAMILIES: [&str; 12] = [
    "garnet",
    "deterministic",
    "nearly reducible",
    "periodic",
    "absorbing",
    "uneven actions",
    "probabilities of 1e-300",
    "twenty orders of magnitude",
    "dense",
    "equal rows",
    "partly uniform rows",
    "permutations",
];

/// Whether floating point may legitimately end before the wanted gap: probabilities so small
/// that the answer hangs on them.
pub(crate) fn is_extreme(family: usize) -> bool {
    matches!(
        FAMILIES[family],
        "nearly reducible" | "probabilities of 1e-300" | "twenty orders of magnitude"
    )
}

/// A model of at most `largest` states, and which family it belongs to.
pub(crate) fn model(source: &mut dyn Source, largest: usize) -> (Mdp, usize) {
    let family = source.below(FAMILIES.len());
    let u = source.unit();
    // small ones are where the corners are
    let n = 1 + ((largest - 1) as f64 * u * u + 0.5) as usize;
    let most = if source.chance(0.1) { 7 } else { 3 };
    let actions = 1 + source.below(most);
    let mut rows: Vec<Vec<Vec<(usize, f64)>>> = Vec::with_capacity(n);
    let mut spread = Vec::new();
    let tiny = [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-100, 1e-300][source.below(7)];
    let period = 1 + source.below(n.min(5));
    let half = n.div_ceil(2);
    for s in 0..n {
        let mut of_state = Vec::new();
        let count = match FAMILIES[family] {
            "uneven actions" => 1 + source.below(actions.max(4)),
            "absorbing" if source.chance(0.2) => 1,
            _ => actions,
        };
        for a in 0..count {
            let mut row: Vec<(usize, f64)> = Vec::new();
            let mut share = 0.0;
            match FAMILIES[family] {
                "deterministic" => row.push((source.below(n), 1.0)),
                "nearly reducible" => {
                    let own = if s < half { 0..half } else { half..n };
                    for _ in 0..1 + source.below(3) {
                        row.push((own.start + source.below(own.len()), 0.05 + source.unit()));
                    }
                    if a == 0 {
                        row.push((source.below(n), tiny));
                    }
                }
                "periodic" => {
                    // classes s mod period lead to the next one
                    let next = (s % period + 1) % period;
                    let members = (n - next).div_ceil(period).max(1);
                    for _ in 0..1 + source.below(3) {
                        row.push((
                            (next + period * source.below(members)).min(n - 1),
                            0.05 + source.unit(),
                        ));
                    }
                }
                "absorbing" if count == 1 => row.push((s, 1.0)),
                "probabilities of 1e-300" => {
                    row.push((source.below(n), 1.0));
                    for _ in 0..source.below(4) {
                        let p = [1e-300, 1e-200, f64::MIN_POSITIVE, 1e-16][source.below(4)];
                        row.push((source.below(n), p));
                    }
                }
                "twenty orders of magnitude" => {
                    for _ in 0..1 + source.below(4) {
                        row.push((source.below(n), 10f64.powf(-20.0 * source.unit())));
                    }
                }
                "dense" => row.extend((0..n).map(|t| (t, 0.01 + source.unit()))),
                "equal rows" if a > 0 && source.chance(0.8) => {
                    row = of_state.first().cloned().unwrap_or_default();
                }
                "equal rows" => {
                    let t = if source.chance(0.5) {
                        s
                    } else {
                        source.below(n)
                    };
                    row.extend([(t, 1.0), (0, if source.chance(0.5) { 1.0 } else { 0.0 })]);
                }
                "partly uniform rows" => {
                    share = [0.0, 0.3, 1.0][source.below(3)];
                    if share < 1.0 {
                        row.extend([(source.below(n), 0.5), (source.below(n), 0.5)]);
                    }
                }
                "permutations" => row.push(((s + 1 + a) % n, 1.0)),
                _ => {
                    for _ in 0..1 + source.below(4) {
                        row.push((source.below(n), 0.05 + source.unit()));
                    }
                }
            }
            let total: f64 = row.iter().map(|e| e.1).sum();
            for e in &mut row {
                e.1 *= (1.0 - share) / total;
            }
            of_state.push(row);
            spread.push(share);
        }
        rows.push(of_state);
    }
    (assemble(n, &rows, &spread), family)
}

fn assemble(n: usize, rows: &[Vec<Vec<(usize, f64)>>], spread: &[f64]) -> Mdp {
    let (mut first, mut actions, mut offsets) = (vec![0], Vec::new(), vec![0]);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for of_state in rows {
        for (a, row) in of_state.iter().enumerate() {
            actions.push(a as u32);
            for &(t, p) in row {
                indices.push(t as u32);
                values.push(p);
            }
            offsets.push(indices.len());
        }
        first.push(actions.len());
    }
    let spread = if spread.iter().any(|c| *c > 0.0) {
        spread
    } else {
        &[]
    };
    Mdp::from_rows_and_spread(n, &first, &actions, &offsets, &indices, &values, spread)
        .expect("rows are scaled to sum to one")
}

/// A problem that fits the model, corners of the parameters included.
pub(crate) fn problem(source: &mut dyn Source, mdp: &Mdp, formulation: Formulation) -> Problem {
    let most = 1.0 / mdp.max_actions() as f64;
    let xi = match source.below(6) {
        0 | 1 => 0.0,
        2 => most,
        3 => most * 1e-12,
        _ => most * source.unit(),
    };
    let least = 1.0 / mdp.n_states() as f64;
    let zeta = match source.below(5) {
        _ if !formulation.takes_zeta() => 1.0,
        0 | 1 => 1.0,
        2 => least,
        _ => least + (1.0 - least) * source.unit(),
    };
    Problem {
        formulation,
        xi,
        zeta,
    }
}

/// A policy in $\Delta_\xi$: corners, or anything.
pub(crate) fn policy(source: &mut dyn Source, mdp: &Mdp, xi: f64) -> Vec<f64> {
    let mut probabilities = Vec::with_capacity(mdp.n_pairs());
    for s in 0..mdp.n_states() {
        let n = mdp.n_actions(s);
        let free = 1.0 - xi * n as f64;
        let weights: Vec<f64> = if source.chance(0.5) {
            let chosen = source.below(n);
            (0..n).map(|a| f64::from(u8::from(a == chosen))).collect()
        } else {
            (0..n).map(|_| 1e-3 + source.unit()).collect()
        };
        let total: f64 = weights.iter().sum();
        probabilities.extend(weights.iter().map(|w| xi + free * w / total));
    }
    probabilities
}
