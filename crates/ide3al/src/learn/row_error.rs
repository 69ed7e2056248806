//! Where an estimated model is wrong, state by state.

use crate::model::{Counts, Mdp};

/// Mean over the actions of each state of the total variation between the true row and the observed
/// one,
///
/// $$ \frac{1}{A_s} \sum_a \tfrac12 \sum_t |P(t|s,a) - \hat P(t|s,a)| , $$
///
/// where a pair never tried counts as 1: nothing is known of it.
pub fn row_errors(truth: &Mdp, counts: &Counts) -> Vec<f64> {
    let n = truth.n_states() as f64;
    let of_pair = |pair: usize| {
        let total = counts.pair_totals()[pair] as f64;
        if total == 0.0 {
            return 1.0;
        }
        let row = truth.row(pair);
        // both rows sum to one: their distance is what they do not share
        let shared = counts.seen(pair).iter().map(|(next, count)| {
            let place = row.indices.binary_search(next);
            let stored = place.map_or(0.0, |k| row.values[k]);
            (*count as f64 / total).min(stored + row.spread / n)
        });
        1.0 - shared.sum::<f64>()
    };
    (0..truth.n_states())
        .map(|s| truth.pairs(s).map(of_pair).sum::<f64>() / truth.n_actions(s) as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_row_seen_wrong_is_half_an_error() {
        let truth = Mdp::from_triplets(
            2,
            2,
            [
                (0, 0, 0, 0.5),
                (0, 0, 1, 0.5),
                (0, 1, 1, 1.0),
                (1, 0, 1, 1.0),
            ],
        )
        .unwrap();
        let mut counts = Counts::new(&[2, 1]);
        // always 1 where 0 and 1 are equally likely; action 1 never
        counts.record(0, 0, 1);
        counts.record(0, 0, 1);
        counts.record(1, 0, 1);
        assert_eq!(row_errors(&truth, &counts), [0.75, 0.0]);
    }
}
