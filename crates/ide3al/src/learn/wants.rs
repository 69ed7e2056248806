//! What the estimate's own uncertainty wants sampled next.
//!
//! *Model error.* A row seen $N$ times, $N_t$ of them with outcome $t$, may have an outcome never
//! seen. By the rule of succession that has probability $1 / (N + 1)$, and may be any state, so
//! that the variance of a sample of the row is taken for $c = 1 - \sum_t (N_t / (N + 1))^2$: one
//! where nothing is known, about $2 / N$ where the outcome was always the same, and the model's own
//! in the end. With as many steps to come as were taken so far, $n$, the plan minimises the error
//! of old and new samples together, $\sum c / (n \omega + N)$; $2 \beta N$ in place of $N$ weighs
//! what was sampled so far as `catch_up` says.
//!
//! *Coverage.* Of every pair as many samples are wanted as the average pair has, and one more; what
//! is missing of that is planned for.
//!
//! Of terminal states, where nothing is left to choose, of the lump and of the restart nothing is
//! wanted. Pairs never tried lead to the lump, which leads everywhere: what nobody knows is worth a
//! try.

use super::estimate::Estimate;
use crate::formulation::Formulation;
use crate::formulation::visits::Visits;
use crate::model::Counts;

/// What to sample next, or with no `catch_up` what to visit in the long run.
pub(crate) fn wants(
    formulation: Formulation,
    counts: &Counts,
    estimate: &Estimate,
    catch_up: Option<f64>,
) -> Visits {
    let totals = counts.pair_totals();
    let open: Vec<(usize, usize)> = open_pairs(counts, estimate);
    let spread = |value: &dyn Fn(usize) -> f64| {
        let mut numbers = vec![0.0; estimate.model.n_pairs()];
        for &(place, pair) in &open {
            numbers[place] = value(pair);
        }
        numbers
    };
    let mut visits = Visits::default();
    if formulation == Formulation::ModelError {
        visits.errors = spread(&|pair| variance(counts, pair));
        if let Some(weight) = catch_up.filter(|weight| *weight > 0.0) {
            let steps = counts.total().max(1) as f64;
            visits.had = spread(&|pair| 2.0 * weight * totals[pair] as f64 / steps);
        }
        return visits;
    }
    let sum: u64 = open.iter().map(|(_, pair)| totals[*pair]).sum();
    let level = sum as f64 / open.len().max(1) as f64 + 1.0;
    visits.wanted = match catch_up {
        Some(_) => spread(&|pair| (level - totals[pair] as f64).max(0.0)),
        None => spread(&|_| 1.0),
    };
    if open.is_empty() {
        // wherever one is, the episode is over: no plan is better than another
        visits.wanted.fill(1.0);
    }
    visits
}

/// $1 - \sum_t (N_t / (N + 1))^2$.
fn variance(counts: &Counts, pair: usize) -> f64 {
    let whole = counts.pair_totals()[pair] as f64 + 1.0;
    let squares = counts.seen(pair).iter().map(|(_, n)| *n as f64 / whole);
    1.0 - squares.map(|p| p * p).sum::<f64>()
}

/// Pairs of states in which an action was a choice: number in the estimate's model, and in the
/// environment.
fn open_pairs(counts: &Counts, estimate: &Estimate) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    for (i, &s) in estimate.known.iter().enumerate() {
        let s = s as usize;
        if counts.ends()[s] == 0 || counts.ends()[s] < counts.state_totals()[s] {
            open.extend(estimate.model.pairs(i).zip(counts.pairs(s)));
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::super::estimate::Untried;
    use super::*;

    #[test]
    fn little_known_rows_and_missing_samples_are_wanted() {
        // state 0: one action tried four times with two outcomes, the other never; state 1 ends
        // every episode
        let mut counts = Counts::new(&[2, 2]);
        counts.record_start(0);
        counts.record(0, 0, 0);
        counts.record(0, 0, 0);
        counts.record(0, 0, 0);
        counts.record(0, 0, 1);
        counts.record(1, 0, 0);
        counts.record_end(1);
        let estimate = Estimate::new(&counts, Untried::Lump(0.05));
        let asked = wants(Formulation::ModelError, &counts, &estimate, Some(0.5));
        assert_eq!(asked.errors.len(), estimate.model.n_pairs());
        assert!((asked.errors[0] - (1.0 - (9.0 + 1.0) / 25.0)).abs() < 1e-15);
        assert_eq!(asked.errors[1..], [1.0, 0.0, 0.0, 0.0, 0.0]);
        // four of five steps
        assert_eq!(asked.had, [0.8, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(
            wants(Formulation::ModelError, &counts, &estimate, None)
                .had
                .is_empty()
        );
        let asked = wants(Formulation::Coverage, &counts, &estimate, Some(0.5));
        // the average pair has two
        assert_eq!(asked.wanted, [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
        let asked = wants(Formulation::Coverage, &counts, &estimate, None);
        assert_eq!(asked.wanted, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
