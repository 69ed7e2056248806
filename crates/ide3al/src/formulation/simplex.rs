//! The set of allowed action distributions, $\Delta_\xi = \{p \ge \xi, \sum_a p_a = 1\}$ (the
//! paper's (7)).

use crate::model::Mdp;

/// $\max_{p \in \Delta_\xi} p \cdot q = \xi \sum_a q_a + (1 - n\xi) \max_a q_a$.
pub fn support(q: impl Iterator<Item = f64>, xi: f64) -> f64 {
    let (mut sum, mut largest, mut n) = (0.0, f64::NEG_INFINITY, 0usize);
    for x in q {
        sum += x;
        largest = f64::max(largest, x);
        n += 1;
    }
    xi * sum + free_mass(n, xi) * largest
}

/// $1 - n\xi$, the mass that is free to move; never negative.
pub fn free_mass(n: usize, xi: f64) -> f64 {
    (1.0 - n as f64 * xi).max(0.0)
}

/// Replaces `row` by its nearest point of $\Delta_\xi$ in Euclidean distance.
///
/// The projection subtracts one number $\tau$ from every entry and cuts off at $\xi$. No
/// allocation. A row that is not finite (a method that broke down) becomes uniform: whatever comes
/// out is a distribution.
pub fn project(row: &mut [f64], xi: f64) {
    let n = row.len();
    let mass = free_mass(n, xi);
    // p = xi + (y - tau)_+ with y = row - xi, and tau such that the sum of (y - tau)_+ is the free
    // mass
    let tau = threshold(row, xi, mass);
    let mut total = 0.0;
    for x in row.iter_mut() {
        *x = xi + (*x - xi - tau).max(0.0);
        total += *x;
    }
    // entries of 1e300 leave no digit to what is subtracted from them
    if !(tau.is_finite() && (total - 1.0).abs() < 1e-6) {
        row.fill(xi + mass / n as f64);
    } else if (total - 1.0).abs() > f64::EPSILON * n as f64 {
        // of entries far larger than one (long steps) some digits are lost, and values that add up
        // many rows would show it
        let most = (0..n).fold(0, |most, a| if row[a] > row[most] { a } else { most });
        row[most] += 1.0 - total;
    }
}

/// The $\tau$ of [`project`].
fn threshold(row: &[f64], xi: f64, mass: f64) -> f64 {
    match row.len() {
        2 => threshold_of_few::<2>(row, xi, mass),
        3 => threshold_of_few::<3>(row, xi, mass),
        4 => threshold_of_few::<4>(row, xi, mass),
        5 => threshold_of_few::<5>(row, xi, mass),
        6 => threshold_of_few::<6>(row, xi, mass),
        7 => threshold_of_few::<7>(row, xi, mass),
        8 => threshold_of_few::<8>(row, xi, mass),
        _ => threshold_of_many(row, xi, mass),
    }
}

/// By Michelot's iteration: $\tau$ for the entries that are not cut off yet, then without those
/// that it cuts off, at most $n$ times.
fn threshold_of_many(row: &[f64], xi: f64, mass: f64) -> f64 {
    let n = row.len();
    let mut active = n;
    let mut tau = (row.iter().map(|x| x - xi).sum::<f64>() - mass) / n as f64;
    for _ in 0..=n {
        let (mut sum, mut count) = (0.0, 0usize);
        for &x in row {
            // as a selection, not a branch: a processor cannot predict which entries stay
            let keep = x - xi > tau;
            sum += if keep { x - xi } else { 0.0 };
            count += usize::from(keep);
        }
        if count == active || count == 0 {
            break;
        }
        active = count;
        tau = (sum - mass) / count as f64;
    }
    tau
}

/// Without a branch that depends on the entries, as $\max_k (\sum_{j \le k} y_j - \text{mass}) / k$
/// with the largest $y$ first: of no set $K$ of entries is that more than $\tau$, since
/// $\sum_K (y - \tau) \le \sum (y - \tau)_+ = \text{mass}$, and of those that are not cut off it is
/// just $\tau$.
#[inline]
fn threshold_of_few<const N: usize>(row: &[f64], xi: f64, mass: f64) -> f64 {
    let mut y: [f64; N] = std::array::from_fn(|i| row[i] - xi);
    for end in (1..N).rev() {
        for j in 0..end {
            let (a, b) = (y[j], y[j + 1]);
            (y[j], y[j + 1]) = (if a < b { b } else { a }, if a < b { a } else { b });
        }
    }
    let (mut sum, mut tau) = (0.0, f64::NEG_INFINITY);
    for (k, x) in y.into_iter().enumerate() {
        sum += x;
        let of_first = (sum - mass) / (k + 1) as f64;
        tau = if of_first > tau { of_first } else { tau };
    }
    tau
}

/// Moves every row of a policy onto $\Delta_\xi$.
pub fn feasible(mdp: &Mdp, xi: f64, mut policy: Vec<f64>) -> Vec<f64> {
    for s in 0..mdp.n_states() {
        project(&mut policy[mdp.pairs(s)], xi);
    }
    policy
}

/// $\max_{p \in \Delta_\xi} \; p \cdot q + \tau H(p)$, writing the maximiser to `p`.
///
/// For $\tau = 0$ it is the [`support`]. For $\tau > 0$: $p_a = \max(\xi, e^{(q_a - \nu)/\tau})$
/// with $\nu$ such that the sum is one. Actions whose share falls below $\xi$ are held at it, and
/// the others share the rest, which needs at most $n$ passes. The value is computed relative to the
/// largest $q$, so that it keeps its digits for large $q$.
pub fn soft_maximum(q: &[f64], xi: f64, tau: f64, p: &mut [f64]) -> f64 {
    let n = q.len();
    if tau == 0.0 {
        p.fill(xi);
        if let Some(best) = (0..n).max_by(|a, b| q[*a].total_cmp(&q[*b])) {
            p[best] += free_mass(n, xi);
        }
        return support(q.iter().copied(), xi);
    }
    smooth_maximum(q, |_| 1.0, xi, tau, p)
}

/// [`soft_maximum`] for $\tau > 0$ over actions of which each stands for so many copies, as one:
/// `p` is the share of all of them.
pub fn smooth_maximum(
    q: &[f64],
    copies: impl Fn(usize) -> f64,
    xi: f64,
    tau: f64,
    p: &mut [f64],
) -> f64 {
    let (largest, more) = above_largest(q, copies, xi, tau, p);
    largest + more
}

/// The same as the largest $q$ and what the maximum has above it.
fn above_largest(
    q: &[f64],
    copies: impl Fn(usize) -> f64,
    xi: f64,
    tau: f64,
    p: &mut [f64],
) -> (f64, f64) {
    let largest = q.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (i, (p, x)) in p.iter_mut().zip(q).enumerate() {
        *p = copies(i) * ((x - largest) / tau).exp();
    }
    // the best action is free; what others gain over it, and the entropy of their shares
    let (mut free, mut gained) = (1.0, 0.0);
    // of the free actions their weights; those held at xi have minus their share
    let factor = loop {
        let total: f64 = p.iter().filter(|p| **p >= 0.0).sum();
        let factor = free / total;
        let mut held = false;
        for (i, p) in p.iter_mut().enumerate().filter(|x| *x.1 >= 0.0) {
            let floor = xi * copies(i);
            if *p * factor < floor && q[i] < largest {
                held = true;
                *p = -floor;
                free -= floor;
                gained += floor * (q[i] - largest - tau * xi.ln());
            }
        }
        if !held {
            break factor;
        }
    };
    for p in p.iter_mut() {
        *p = if *p < 0.0 { -*p } else { *p * factor };
    }
    // a free action's share is factor exp((q - largest) / tau) for each copy, so that its part of
    // both sums is -tau ln(factor) of it
    (largest, gained - tau * free * factor.ln())
}

/// [`support`] smoothed: $\max_f \; p \cdot q + \tau (1 - n\xi) H(f)$ with $p = \xi + (1 - n\xi) f$
/// and $f$ any distribution, writing $p$ and $(1 - n\xi) f$. Actions are counted as in
/// [`smooth_maximum`].
///
/// With the entropy of $p$ instead, an action that reaches $\xi$ would make a kink in the
/// derivative.
pub fn smoothed_support(
    q: &[f64],
    copies: impl Fn(usize) -> f64,
    xi: f64,
    tau: f64,
    (p, free): (&mut [f64], &mut [f64]),
) -> f64 {
    let (largest, more) = above_largest(q, &copies, 0.0, tau, free);
    // relative to the largest q, which may be far larger than their differences
    let (mut n, mut held) = (0.0, 0.0);
    for (i, (p, q)) in p.iter_mut().zip(q).enumerate() {
        *p = xi * copies(i);
        n += copies(i);
        held += *p * (q - largest);
    }
    let mass = (1.0 - n * xi).max(0.0);
    for (p, free) in p.iter_mut().zip(free) {
        *free *= mass;
        *p += *free;
    }
    largest + (held + mass * more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projection_satisfies_the_variational_inequality() {
        let start = [0.9, -0.3, 0.45, 0.2];
        for xi in [0.0, 0.1, 0.25] {
            let mut p = start;
            project(&mut p, xi);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!(p.iter().all(|x| *x >= xi));
            // (start - p) . (v - p) <= 0 for every vertex v
            for a in 0..4 {
                let product: f64 = (0..4)
                    .map(|b| {
                        let v = xi + if a == b { free_mass(4, xi) } else { 0.0 };
                        (start[b] - p[b]) * (v - p[b])
                    })
                    .sum();
                assert!(product < 1e-14, "{product}");
            }
        }
    }

    /// A row of zeros for one that is not a number had been valued as if it were a policy.
    #[test]
    fn whatever_is_projected_becomes_a_distribution() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308] {
            for xi in [0.0, 0.1] {
                let mut p = [0.3, bad, 0.2];
                project(&mut p, xi);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{bad}: {p:?}");
                assert!(p.iter().all(|x| *x >= xi), "{bad}: {p:?}");
            }
        }
    }

    /// Two ways to the same threshold, for rows of up to eight entries, some of them equal.
    #[test]
    fn thresholds_of_few_and_of_many_agree() {
        for k in 0..700 {
            let n = 2 + k % 7;
            let entry = |a: usize| ((13 * k + 5 * a) as f64).sin();
            let coarse = |a: usize| (2.0 * entry(a)).round();
            let of = |a: usize| {
                if k.is_multiple_of(3) {
                    coarse(a)
                } else {
                    entry(a)
                }
            };
            let row: Vec<f64> = (0..n).map(of).collect();
            let xi = 0.3 / n as f64 * (k % 4) as f64;
            let mass = free_mass(n, xi);
            let (few, many) = (threshold(&row, xi, mass), threshold_of_many(&row, xi, mass));
            assert!((few - many).abs() < 1e-15, "{row:?}: {few} {many}");
        }
    }

    /// Long steps of first order had left rows that added up to one less 1e-12, and objectives
    /// better than the optimum by a thousand times that.
    #[test]
    fn rows_far_away_are_projected_to_all_digits() {
        for scale in [1.0, 1e3, 1e6, 1e9] {
            for k in 0..200 {
                let entry = |a: usize| {
                    ((7 * k + 3 * a) as f64).sin()
                        + if a.is_multiple_of(2) { scale } else { -scale }
                };
                let mut p: Vec<f64> = (0..6).map(entry).collect();
                project(&mut p, 0.02);
                assert!(
                    (p.iter().sum::<f64>() - 1.0).abs() < 3e-15,
                    "{scale}: {p:?}"
                );
                assert!(p.iter().all(|x| *x >= 0.02));
            }
        }
    }

    #[test]
    fn soft_maximum_beats_every_other_distribution() {
        let q = [0.3, -1.0, 0.29, 2.0];
        let mut p = [0.0; 4];
        let value = |p: &[f64], tau: f64| -> f64 {
            p.iter()
                .zip(&q)
                .map(|(p, q)| p * q - if *p > 0.0 { tau * p * p.ln() } else { 0.0 })
                .sum()
        };
        for (xi, tau) in [
            (0.0, 1.0),
            (0.1, 1.0),
            (0.2, 0.3),
            (0.25, 0.5),
            (0.05, 1e-3),
            (0.1, 0.0),
        ] {
            let best = soft_maximum(&q, xi, tau, &mut p);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!((best - value(&p, tau)).abs() < 1e-13);
            let mut other = [0.4, 0.1, 0.2, 0.3];
            for step in 0..200 {
                other[step % 4] += 0.1;
                project(&mut other, xi);
                assert!(value(&other, tau) <= best + 1e-12);
            }
        }
    }

    /// Against the definition, by the free parts of many other distributions; the free part moves
    /// with $q$ as its weights say.
    #[test]
    fn a_smoothed_support_beats_every_other_distribution() {
        let q = [0.3, -0.4, 0.29, 0.5];
        let copies = |i: usize| [1.0, 2.0, 1.0, 3.0][i];
        for (xi, tau) in [(0.0, 1.0), (0.05, 0.3), (0.1, 0.02), (1.0 / 7.0, 0.5)] {
            let mass = 1.0 - 7.0 * xi;
            let (mut p, mut free) = ([0.0; 4], [0.0; 4]);
            let mut at = |q: &[f64], p: &mut [f64]| {
                let value = smoothed_support(q, copies, xi, tau, (p, &mut free));
                (value, free)
            };
            let (best, free) = at(&q, &mut p);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let value = |f: &[f64]| -> f64 {
                let parts = (0..4).map(|i| {
                    let each = f[i] / copies(i);
                    let entropy = if each > 0.0 { -f[i] * each.ln() } else { 0.0 };
                    (xi * copies(i) + mass * f[i]) * q[i] + tau * mass * entropy
                });
                parts.sum()
            };
            if mass > 1e-9 {
                assert!((best - value(&free.map(|x| x / mass))).abs() < 1e-13);
            }
            // a constant more moves nothing but the value, by as much, and takes no digits of the
            // rest (2^27 and the q have few bits)
            let coarse = [0.25, -0.5, 0.25, 0.5];
            let (mut one, mut other) = ([0.0; 4], [0.0; 4]);
            let low = at(&coarse, &mut one).0;
            let high = at(&coarse.map(|q| q + 134_217_728.0), &mut other).0;
            assert!((high - 134_217_728.0 - low).abs() < 3e-8, "{high} {low}");
            assert_eq!(one, other);
            let mut other = [0.4, 0.1, 0.2, 0.3];
            for step in 0..200 {
                other[step % 4] += 0.1;
                project(&mut other, 0.0);
                assert!(value(&other) <= best + 1e-12);
            }
            // dp_i / dq_j = (f_i [i = j] - f_i f_j / sum f) / tau
            let h = 1e-6 * tau;
            for j in 0..4 {
                let (mut up, mut down, mut moved) = (q, q, [[0.0; 4]; 2]);
                up[j] += h;
                down[j] -= h;
                at(&up, &mut moved[0]);
                at(&down, &mut moved[1]);
                for i in 0..4 {
                    let own = if i == j { free[i] } else { 0.0 };
                    let spread = free[i] * free[j] / mass.max(1e-300);
                    let numeric = (moved[0][i] - moved[1][i]) / (2.0 * h) * tau;
                    assert!((numeric - (own - spread)).abs() < 1e-7, "{i} {j}");
                }
            }
        }
    }
}
