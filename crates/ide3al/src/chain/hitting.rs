//! How long a chain takes from here to there: hitting and return times, Kemeny's constant, the
//! entropy rate.
//!
//! Let the chain have one recurrent class, $d$ its stationary distribution, $c_i$ the mean time of
//! a step from state $i$ (one, or what the policy makes of travel times) and
//! $C = \langle d, c \rangle$. With the fundamental matrix $Z = (I - M + \mathbf 1 d^\top)^{-1}$
//! the mean time from $i$ until $j \ne i$ is first reached is
//!
//! $$h_{ij} = (Zc)_i - (Zc)_j + C\, \frac{Z_{jj} - Z_{ij}}{d_j} ,$$
//!
//! the mean time from $j$ back to $j$ is $C / d_j$, and
//! $\sum_{ij} d_i h_{ij} d_j = C (\operatorname{tr} Z - 1)$ is Kemeny's constant: how long it takes
//! to a state drawn from $d$, wherever one starts (for travel times: starting from $d$). Reference:
//! Kemeny and Snell, *Finite Markov Chains* (1960), chapter 4; with travel times Patel, Agharkar
//! and Bullo (2015), *IEEE Transactions on Automatic Control* 60, 3151-3167.

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use ide3al_numerics::selected_inverse::{Factor, Symbolic};
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

use super::Chain;
use super::stationary::LongRun;

/// Largest recurrent class all of whose hitting times are computed: they are $n^2$ numbers.
const DENSE_LIMIT: usize = 1_000;
/// States of larger classes to which they are computed.
const DRAWN: usize = 64;
const SEED: u64 = 0x417;
/// Most numbers in the factor that they are computed with.
const MOST_NUMBERS: usize = 40_000_000;
/// Largest relative violation of $h_{ij} = c_i + \sum_{k \ne j} M_{ik} h_{kj}$ at which the times
/// count as known.
const RESIDUAL: f64 = 1e-6;

/// Mean times between the states of a chain's recurrent class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HittingTimes {
    /// Kemeny's constant; `None` where the times are those to some states only.
    pub kemeny: Option<f64>,
    /// $\max_{i \ne j} h_{ij}$ over all $j$, or over those drawn; 0 for one state.
    pub largest: f64,
    /// Average of $h_{ij}$ over $i \ne j$, and all $j$ or those drawn; 0 for one state.
    pub mean: f64,
    /// Standard error of the average; `None` where it is that over all.
    pub mean_error: Option<f64>,
}

/// Largest and average of $C / d_j$ over the recurrent states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReturnTimes {
    /// $\max_j C / d_j$.
    pub largest: f64,
    /// The average over states.
    pub mean: f64,
}

/// Mean times back to each state; `None` where there are several recurrent classes. `step` is $c$,
/// one number per state.
pub fn return_times(long_run: &LongRun, step: &[f64]) -> Option<ReturnTimes> {
    let [class] = long_run.classes.recurrent.as_slice() else {
        return None;
    };
    let d = &long_run.distribution;
    let mean_step = mean_step(d, step);
    let back = class.states.iter().map(|&j| mean_step / d[j as usize]);
    let largest = back.clone().fold(0.0, f64::max);
    let times = ReturnTimes {
        largest,
        mean: back.sum::<f64>() / class.states.len() as f64,
    };
    times.largest.is_finite().then_some(times)
}

/// $C = \langle d, c \rangle$.
pub fn mean_step(d: &[f64], step: &[f64]) -> f64 {
    d.iter().zip(step).map(|(d, c)| d * c).sum()
}

/// Mean hitting times; `None` where there are several recurrent classes, or states so rare that
/// rounding hides the times. With more than 1,000 recurrent states those to 64 of them, drawn at
/// random, unless the chain is so large and so densely linked that even these would take too long.
pub fn hitting_times(chain: &Chain, long_run: &LongRun, step: &[f64]) -> Option<HittingTimes> {
    let [class] = long_run.classes.recurrent.as_slice() else {
        return None;
    };
    let states = &class.states;
    let n = states.len();
    if !long_run.converged {
        return None;
    }
    if n > DENSE_LIMIT {
        return to_some(chain, long_run, states, step);
    }
    let d: Vec<f64> = states
        .iter()
        .map(|&s| long_run.distribution[s as usize])
        .collect();
    let c: Vec<f64> = states.iter().map(|&s| step[s as usize]).collect();
    let rows = rows_within(chain, states);
    let mut matrix = Mat::<f64>::from_fn(n, n, |i, j| d[j] + if i == j { 1.0 } else { 0.0 });
    for (i, row) in rows.iter().enumerate() {
        for &(j, p) in row {
            matrix[(i, j)] -= p;
        }
    }
    let z = matrix.partial_piv_lu().inverse();
    let mean_step = mean_step(&d, &c);
    let zc: Vec<f64> = (0..n)
        .map(|i| (0..n).map(|j| z[(i, j)] * c[j]).sum())
        .collect();
    let time = |i: usize, j: usize| {
        if i == j {
            0.0
        } else {
            zc[i] - zc[j] + mean_step * (z[(j, j)] - z[(i, j)]) / d[j]
        }
    };
    let (mut largest, mut sum) = (0.0, 0.0);
    for j in 0..n {
        let column: Vec<f64> = (0..n).map(|i| time(i, j)).collect();
        for i in (0..n).filter(|&i| i != j) {
            // what one step leaves must be the rest of the way
            let rest: f64 = rows[i].iter().map(|&(k, p)| p * column[k]).sum();
            if !((column[i] - c[i] - rest).abs() <= RESIDUAL * column[i]) {
                return None;
            }
            largest = f64::max(largest, column[i]);
            sum += column[i];
        }
    }
    let trace: f64 = (0..n).map(|i| z[(i, i)]).sum();
    let pairs = (n * (n - 1)) as f64;
    Some(HittingTimes {
        kemeny: Some(mean_step * (trace - 1.0)),
        largest,
        mean: if n > 1 { sum / pairs } else { 0.0 },
        mean_error: None,
    })
}

/// Mean times to states drawn at random. With $N$ the inverse of $I - M$ without the row and column
/// of one state $r$, and $t = N c$, they are $h_{ij} = t_i - t_j + C (N_{jj} - N_{ij}) / d_j$.
fn to_some(
    chain: &Chain,
    long_run: &LongRun,
    states: &[u32],
    step: &[f64],
) -> Option<HittingTimes> {
    let n = states.len();
    let kernel = chain.kernel();
    if kernel.has_spread() {
        return None;
    }
    let d = &long_run.distribution;
    let rows = rows_within(chain, states);
    let most = |a: &usize, b: &usize| d[states[*a] as usize].total_cmp(&d[states[*b] as usize]);
    let apart = (0..n).max_by(most)?;
    let entries = || {
        let all = rows.iter().enumerate();
        all.flat_map(|(i, row)| row.iter().map(move |&(j, p)| (i, j, p)))
    };
    let from: Vec<u32> = entries().map(|(i, _, _)| i as u32).collect();
    let to: Vec<u32> = entries().map(|(_, j, _)| j as u32).collect();
    let symbolic = Symbolic::new(n, &from, &to);
    if symbolic.size() > MOST_NUMBERS {
        return None;
    }
    let kept = |(i, j, p): (usize, usize, f64)| if i == apart || j == apart { 0.0 } else { -p };
    let values: Vec<f64> = entries().map(kept).collect();
    let mut factor = Factor::new(&symbolic);
    if !factor.eliminate(&symbolic, &values, &vec![1.0; n]) {
        return None;
    }
    let mut time: Vec<f64> = states.iter().map(|s| step[*s as usize]).collect();
    time[apart] = 0.0;
    factor.solve(&symbolic, &mut time);
    let cycle = mean_step(d, step);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let (mut largest, mut means) = (0.0f64, Vec::with_capacity(DRAWN));
    let mut column = vec![0.0; n];
    for j in index::sample(&mut rng, n, DRAWN) {
        column.fill(0.0);
        if j != apart {
            column[j] = 1.0;
            factor.solve(&symbolic, &mut column);
        }
        let (own, share) = (column[j], d[states[j] as usize]);
        for (i, x) in column.iter_mut().enumerate() {
            *x = if i == j {
                0.0
            } else {
                time[i] - time[j] + cycle * (own - *x) / share
            };
        }
        for i in (0..n).filter(|i| *i != j) {
            let rest: f64 = rows[i].iter().map(|&(k, p)| p * column[k]).sum();
            if !((column[i] - step[states[i] as usize] - rest).abs() <= RESIDUAL * column[i]) {
                return None;
            }
            largest = largest.max(column[i]);
        }
        means.push(column.iter().sum::<f64>() / (n - 1) as f64);
    }
    let mean = means.iter().sum::<f64>() / DRAWN as f64;
    let squares: f64 = means.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some(HittingTimes {
        kemeny: None,
        largest,
        mean,
        mean_error: Some((squares / (DRAWN * (DRAWN - 1)) as f64).sqrt()),
    })
}

/// Rows of a closed class, with columns by place in the class.
fn rows_within(chain: &Chain, states: &[u32]) -> Vec<Vec<(usize, f64)>> {
    let mut place = vec![usize::MAX; chain.n_states()];
    for (i, &s) in states.iter().enumerate() {
        place[s as usize] = i;
    }
    let kernel = chain.kernel();
    let row_of = |&s: &u32| {
        let row = kernel.row(s as usize);
        if row.spread > 0.0 {
            // such a row reaches every state: the class is the whole chain
            let mut dense = vec![row.spread / kernel.n_columns() as f64; states.len()];
            row.entries().for_each(|(j, p)| dense[place[j]] += p);
            return dense.into_iter().enumerate().collect();
        }
        let inside = row.entries().filter(|(_, p)| *p > 0.0);
        inside.map(|(j, p)| (place[j], p)).collect()
    };
    states.iter().map(row_of).collect()
}

/// $-\sum_i d_i \sum_j M_{ij} \ln M_{ij}$ in nats: how unpredictable the next state is.
pub fn entropy_rate(chain: &Chain, d: &[f64]) -> f64 {
    let kernel = chain.kernel();
    let n = kernel.n_columns() as f64;
    let of_row = |i: usize| {
        let row = kernel.row(i);
        let even = row.spread / n;
        let missing = n - row.indices.len() as f64;
        let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let listed: f64 = row.values.iter().map(|p| part(p + even)).sum();
        listed + missing * part(even)
    };
    let visited = (0..d.len()).filter(|&i| d[i] > 0.0);
    visited.map(|i| d[i] * of_row(i)).sum::<f64>() + 0.0
}

/// Mean time of a step from each state under action probabilities, for travel times per pair (one
/// each where there are none).
pub fn step_times(mdp: &crate::model::Mdp, probabilities: &[f64]) -> Vec<f64> {
    let Some(times) = mdp.times() else {
        return vec![1.0; mdp.n_states()];
    };
    (0..mdp.n_states())
        .map(|s| {
            mdp.pairs(s)
                .map(|pair| probabilities[pair] * times[pair])
                .sum()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::stationary::long_run;
    use super::*;

    #[test]
    fn a_walk_round_a_ring_by_formula() {
        // from i to j against or with the ring: k (n - k) steps
        let n = 7;
        let entries: Vec<(usize, usize, f64)> = (0..n)
            .flat_map(|i| [(i, (i + 1) % n, 0.5), (i, (i + n - 1) % n, 0.5)])
            .collect();
        let chain = Chain::from_entries(n, &entries, vec![]);
        let found = long_run(&chain);
        let times = hitting_times(&chain, &found, &vec![1.0; n]).unwrap();
        assert!((times.largest - 12.0).abs() < 1e-9, "{times:?}");
        let mean = (1..n).map(|k| (k * (n - k)) as f64).sum::<f64>() / (n - 1) as f64;
        assert!((times.mean - mean).abs() < 1e-9);
        assert!((times.kemeny.unwrap() - mean * (n - 1) as f64 / n as f64).abs() < 1e-9);
        let back = return_times(&found, &vec![1.0; n]).unwrap();
        assert!((back.largest - 7.0).abs() < 1e-9 && (back.mean - 7.0).abs() < 1e-9);
        assert!((entropy_rate(&chain, &found.distribution) - 2f64.ln()).abs() < 1e-12);
        // steps that take twice as long double every time
        let slow = hitting_times(&chain, &found, &vec![2.0; n]).unwrap();
        assert!((slow.kemeny.unwrap() - 2.0 * times.kemeny.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn times_to_states_drawn_agree_with_all_of_them() {
        // a walk on a grid that drifts, once by all its states and once by those drawn
        let (rows, n) = (20, 400);
        let near = |s: usize| {
            let (r, c) = (s / rows, s % rows);
            let to = [
                (r.saturating_sub(1) * rows + c, 0.2),
                ((r + 1).min(rows - 1) * rows + c, 0.3),
                (r * rows + c.saturating_sub(1), 0.3),
                (r * rows + (c + 1).min(rows - 1), 0.2),
            ];
            to.map(|(t, p)| (s, t, p))
        };
        let entries: Vec<(usize, usize, f64)> = (0..n).flat_map(near).collect();
        let chain = Chain::from_entries(n, &entries, vec![]);
        let found = long_run(&chain);
        let step: Vec<f64> = (0..n).map(|s| 1.0 + (s % 3) as f64).collect();
        let all = hitting_times(&chain, &found, &step).unwrap();
        let states: Vec<u32> = (0..n as u32).collect();
        let some = to_some(&chain, &found, &states, &step).unwrap();
        let error = some.mean_error.unwrap();
        assert!(
            (some.mean - all.mean).abs() < 4.5 * error,
            "{some:?} {all:?}"
        );
        assert!(some.largest <= all.largest * (1.0 + 1e-9));
    }

    #[test]
    fn uneven_steps_satisfy_the_one_step_equations() {
        // two states: 0 stays for 3 with probability 0.75, the way over takes 1, the way back 10
        let entries = [(0, 0, 0.75), (0, 1, 0.25), (1, 0, 1.0)];
        let chain = Chain::from_entries(2, &entries, vec![]);
        let step = [0.75 * 3.0 + 0.25, 10.0];
        let found = long_run(&chain);
        let times = hitting_times(&chain, &found, &step).unwrap();
        // four visits of state 0 on average before leaving it
        assert!(
            (times.mean - (4.0 * step[0] + 10.0) / 2.0).abs() < 1e-9,
            "{times:?}"
        );
        let d = &found.distribution;
        let kemeny = d[0] * d[1] * (4.0 * step[0] + 10.0);
        assert!((times.kemeny.unwrap() - kemeny).abs() < 1e-9);
    }

    #[test]
    fn uniform_shares_count_and_several_classes_have_no_times() {
        // every row uniform over four states: a draw each step
        let chain = Chain::from_entries(4, &[], vec![1.0; 4]);
        let found = long_run(&chain);
        let times = hitting_times(&chain, &found, &[1.0; 4]).unwrap();
        assert!((times.largest - 4.0).abs() < 1e-9 && (times.kemeny.unwrap() - 3.0).abs() < 1e-9);
        assert!((entropy_rate(&chain, &found.distribution) - 4f64.ln()).abs() < 1e-12);
        let apart = Chain::from_entries(2, &[(0, 0, 1.0), (1, 1, 1.0)], vec![]);
        let found = long_run(&apart);
        assert_eq!(hitting_times(&apart, &found, &[1.0; 2]), None);
        assert_eq!(return_times(&found, &[1.0; 2]), None);
    }
}
