//! The values of policies, computed from the definitions on dense matrices. Nothing here calls
//! the library's own mathematics.

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;

use super::flow::Network;

/// $P$, one dense row per pair.
pub(crate) fn dense(mdp: &Mdp) -> Vec<Vec<f64>> {
    let n = mdp.n_states();
    (0..mdp.n_pairs())
        .map(|pair| {
            let row = mdp.row(pair);
            let mut dense = vec![row.spread / n as f64; n];
            row.entries().for_each(|(t, p)| dense[t] += p);
            dense
        })
        .collect()
}

/// $M(\pi)$.
pub(crate) fn induced(mdp: &Mdp, p: &[Vec<f64>], policy: &[f64]) -> Vec<Vec<f64>> {
    let n = mdp.n_states();
    (0..n)
        .map(|s| {
            let mut row = vec![0.0; n];
            for pair in mdp.pairs(s) {
                for t in 0..n {
                    row[t] += policy[pair] * p[pair][t];
                }
            }
            row
        })
        .collect()
}

/// What a policy is worth: $(\text{least}, \text{most})$ that it can be, equal where the
/// definition could be evaluated to rounding. `hint` is where to begin, `sweeps` how long to go
/// on; neither can make the answer wrong.
pub(crate) fn value(
    mdp: &Mdp,
    p: &[Vec<f64>],
    problem: &Problem,
    policy: &[f64],
    hint: &[f64],
    sweeps: usize,
) -> (f64, f64) {
    let m = induced(mdp, p, policy);
    match problem.formulation {
        Formulation::ColumnSum => {
            let n = m.len();
            let sum = |t: usize| (0..n).map(|s| m[s][t]).sum::<f64>();
            let value = (0..n).map(|t| (1.0 - sum(t)).abs()).sum();
            (value, value)
        }
        Formulation::Dual => {
            let value = entropy(mdp, &m, policy, true);
            (value, value)
        }
        Formulation::StateEntropy => {
            let value = entropy(mdp, &m, policy, false);
            (value, value)
        }
        Formulation::Frobenius => distance(&m, problem.zeta, hint, sweeps),
        Formulation::Infinity => {
            // by bisection on the question below
            let (mut low, mut high) = (0.0, 2.0);
            while high - low > 1e-9 {
                let middle = 0.5 * (low + high);
                if infinity_reaches(&m, problem.zeta, middle) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            (low, high)
        }
        other => unreachable!("{} is judged by tests of its own", other.name()),
    }
}

/// Whether some $U \in B_\zeta$ has $\|U_s - M_s\|_1 \le x$ for every row, that is, shares at least
/// $1 - x/2$ with it: a flow from rows to columns, of which that much must go over entries of $M$.
pub(crate) fn infinity_reaches(m: &[Vec<f64>], zeta: f64, x: f64) -> bool {
    if x < 0.0 {
        return false;
    }
    let n = m.len();
    let free = (x / 2.0).clamp(0.0, 1.0);
    // source, sink, rows that keep, rows that need not, columns
    let (source, sink) = (0, 1);
    let (keep, rest, column) = (|s| 2 + s, |s| 2 + n + s, |t| 2 + 2 * n + t);
    let mut network = Network::new(2 + 3 * n);
    for s in 0..n {
        network.arc(source, keep(s), 1.0 - free);
        network.arc(source, rest(s), free);
        network.arc(rest(s), keep(s), 1.0);
        for t in 0..n {
            let kept = m[s][t].min(zeta);
            network.arc(keep(s), column(t), kept);
            network.arc(rest(s), column(t), zeta - kept);
        }
        network.arc(column(s), sink, 1.0);
    }
    network.maximum(source, sink) >= n as f64 - 1e-10 * n as f64
}

/// Distance of $M$ from $B_\zeta$ in the Frobenius norm: every pair of multipliers proves a lower
/// end, and where $U = \mathrm{clip}(M + \alpha + \beta)$ keeps all sums the distance is
/// $\|U - M\|$. Exact coordinate steps on one sum after the other.
fn distance(m: &[Vec<f64>], zeta: f64, hint: &[f64], sweeps: usize) -> (f64, f64) {
    let n = m.len();
    let (mut alpha, mut beta) = (vec![0.0; n], vec![0.0; n]);
    if hint.len() == 2 * n && hint.iter().all(|x| x.is_finite() && x.abs() < 1e6) {
        alpha.copy_from_slice(&hint[..n]);
        beta.copy_from_slice(&hint[n..]);
    }
    let mut lower = 0.0f64;
    let mut column = vec![0.0; n];
    for _ in 0..sweeps {
        for s in 0..n {
            for t in 0..n {
                column[t] = m[s][t] + beta[t];
            }
            alpha[s] = shift(&column, zeta);
        }
        for t in 0..n {
            for s in 0..n {
                column[s] = m[s][t] + alpha[s];
            }
            beta[t] = shift(&column, zeta);
        }
        let (mut squared, mut violation, mut dual) = (0.0, 0.0f64, 0.0);
        for s in 0..n {
            let mut sum = 0.0;
            for t in 0..n {
                let x = m[s][t] + alpha[s] + beta[t];
                let u = x.clamp(0.0, zeta);
                sum += u;
                squared += (u - m[s][t]).powi(2);
                // the Lagrangian's minimum over 0 <= u <= zeta
                dual += 0.5 * (u - m[s][t]).powi(2) - (alpha[s] + beta[t]) * u;
            }
            violation = violation.max((sum - 1.0).abs());
        }
        dual += alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
        lower = lower.max((2.0 * dual).max(0.0).sqrt());
        if violation < 1e-12 {
            return (lower.min(squared.sqrt()), squared.sqrt());
        }
    }
    (lower, f64::INFINITY)
}

/// The $a$ with $\sum_i \mathrm{clip}(x_i + a, 0, \zeta) = 1$.
fn shift(x: &[f64], zeta: f64) -> f64 {
    let sum = |a: f64| x.iter().map(|x| (x + a).clamp(0.0, zeta)).sum::<f64>();
    let largest = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    let least = x.iter().fold(f64::INFINITY, |m, x| m.min(*x));
    let (mut low, mut high) = (-largest, zeta - least);
    for _ in 0..200 {
        // a false position inside a bracket, then exact on the linear piece
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        let inside = x
            .iter()
            .filter(|x| (0.0..zeta).contains(&(**x + middle)))
            .count();
        let now = sum(middle);
        if inside > 0 {
            let exact = middle + (1.0 - now) / inside as f64;
            if (sum(exact) - 1.0).abs() < 1e-15 {
                return exact;
            }
        }
        if now < 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Entropy of the best stationary distribution of a chain, of states or of pairs: in each
/// recurrent class the elimination of Grassmann, Taksar and Heyman, then
/// $\ln \sum_c e^{H_c}$.
fn entropy(mdp: &Mdp, m: &[Vec<f64>], policy: &[f64], of_pairs: bool) -> f64 {
    let n = m.len();
    // who can reach whom
    let mut reach = vec![vec![false; n]; n];
    for s in 0..n {
        for t in 0..n {
            reach[s][t] = s == t || m[s][t] > 0.0;
        }
    }
    for k in 0..n {
        for s in 0..n {
            if reach[s][k] {
                for t in 0..n {
                    if reach[k][t] {
                        reach[s][t] = true;
                    }
                }
            }
        }
    }
    let recurrent = |s: usize| (0..n).all(|t| !reach[s][t] || reach[t][s]);
    let mut sums = Vec::new();
    for s in (0..n).filter(|&s| recurrent(s)) {
        let class: Vec<usize> = (0..n).filter(|&t| reach[s][t]).collect();
        if class[0] != s {
            continue;
        }
        let d = eliminate(&class, m);
        let mut h = 0.0;
        for (&s, &d) in class.iter().zip(&d) {
            if of_pairs {
                h += mdp
                    .pairs(s)
                    .map(|pair| information(d * policy[pair]))
                    .sum::<f64>();
            } else {
                h += information(d);
            }
        }
        sums.push(h);
    }
    let largest = sums.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    largest + sums.iter().map(|h| (h - largest).exp()).sum::<f64>().ln()
}

fn information(p: f64) -> f64 {
    if p > 0.0 { -p * p.ln() } else { 0.0 }
}

fn eliminate(class: &[usize], m: &[Vec<f64>]) -> Vec<f64> {
    let k = class.len();
    let mut a: Vec<Vec<Wide>> = class
        .iter()
        .map(|&s| class.iter().map(|&t| Wide::new(m[s][t])).collect())
        .collect();
    for i in (1..k).rev() {
        let out = a[i][..i].iter().fold(Wide::new(0.0), |x, y| x.plus(*y));
        for row in 0..i {
            a[row][i] = a[row][i].over(out);
            let factor = a[row][i];
            if factor.digits > 0.0 {
                for column in 0..i {
                    a[row][column] = a[row][column].plus(factor.times(a[i][column]));
                }
            }
        }
    }
    let mut d = vec![Wide::new(1.0); k];
    for i in 1..k {
        let terms = (0..i).map(|row| d[row].times(a[row][i]));
        d[i] = terms.fold(Wide::new(0.0), Wide::plus);
    }
    let total = d.iter().fold(Wide::new(0.0), |x, y| x.plus(*y));
    d.iter().map(|x| x.over(total).plain()).collect()
}

/// A number that is not negative, `digits` times two to the `power`: products of probabilities of
/// 1e-300 are beyond the range of a double.
#[derive(Clone, Copy)]
struct Wide {
    digits: f64,
    power: i64,
}

impl Wide {
    fn new(x: f64) -> Self {
        Wide {
            digits: x,
            power: 0,
        }
        .normal()
    }

    /// With digits in $[1, 2)$, or zero.
    fn normal(mut self) -> Self {
        if self.digits == 0.0 {
            return Wide {
                digits: 0.0,
                power: i64::MIN / 4,
            };
        }
        if self.digits < f64::MIN_POSITIVE {
            self.digits *= 2f64.powi(200);
            self.power -= 200;
        }
        let exponent = (self.digits.to_bits() >> 52) as i64 - 1023;
        let bits = self.digits.to_bits() & ((1 << 52) - 1) | 1023 << 52;
        Wide {
            digits: f64::from_bits(bits),
            power: self.power + exponent,
        }
    }

    fn times(self, other: Self) -> Self {
        Wide {
            digits: self.digits * other.digits,
            power: self.power + other.power,
        }
        .normal()
    }

    fn over(self, other: Self) -> Self {
        Wide {
            digits: self.digits / other.digits,
            power: self.power - other.power,
        }
        .normal()
    }

    fn plus(self, other: Self) -> Self {
        let (large, small) = if self.power >= other.power {
            (self, other)
        } else {
            (other, self)
        };
        let shift = large.power - small.power;
        if small.digits == 0.0 || shift > 60 {
            return large;
        }
        Wide {
            digits: large.digits + small.digits * 2f64.powi(-(shift as i32)),
            power: large.power,
        }
        .normal()
    }

    fn plain(self) -> f64 {
        if self.power < -1000 {
            return 0.0;
        }
        self.digits * 2f64.powi(self.power as i32)
    }
}
