//! What the rows of an unknown environment may be, given what was seen: a confidence set for each
//! state-action pair that is valid however the samples were gathered and whenever one looks.
//!
//! The outcomes of one pair come one after another. Predict each: with $m$ different outcomes seen
//! in $t$ samples, outcome $k$ (seen $c_k$ times) gets $(c_k - \frac12)/t$ and a new one $m/(2t)$.
//! The ratio of these predictions to the probabilities $p$ of the true row is a martingale of mean
//! one, so that with probability $1 - \delta$ it never exceeds $1/\delta$ (Ville's inequality). An
//! outcome is new at most with probability one; so all along
//!
//! $$\sum_k (c_k - 1) \ln p_k \ge \ln Q - \ln \tfrac1\delta, \qquad
//! Q = \frac{(m-1)!}{2^{m-1} (n-1)!} \prod_k \prod_{i=1}^{c_k-1} (i - \tfrac12) .$$
//!
//! Nothing is assumed of the number of states, and an outcome that always came has a probability of
//! at least $1 - O(\ln n / n)$. What is left of the mass may lie anywhere. The extremes of an
//! expectation over the set are those of KL-UCRL.
//!
//! References: Ville (1939), *Étude critique de la notion de collectif*; Pitman and Yor (1997),
//! *Annals of Probability* 25, 855-900 (the predictions); Filippi, Cappé and Garivier (2010),
//! *Allerton*, 115-122 (the extremes).

/// The confidence set of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSet {
    /// $c_k - 1$ of each outcome, in the order in which they are listed.
    weights: Vec<f64>,
    /// $\sum_k (c_k - 1)$.
    total: f64,
    /// $\sum_k w_k \ln p_k$ is at least this.
    floor: f64,
}

/// Sums of $\ln$ up to this many terms are added up, longer ones by Stirling's series.
const FEW: u64 = 16;

/// $\ln \prod_{i=1}^{n} (i - x)$.
fn ln_rising(n: u64, x: f64) -> f64 {
    let few = n.min(FEW);
    let mut sum: f64 = (1..=few).map(|i| (i as f64 - x).ln()).sum();
    if n > few {
        // ln Gamma(z) = (z - 1/2) ln z - z + 1/(12 z) - ... between two arguments
        let stirling =
            |z: f64| (z - 0.5) * z.ln() - z + 1.0 / (12.0 * z) - 1.0 / (360.0 * z * z * z);
        sum += stirling(n as f64 + 1.0 - x) - stirling(few as f64 + 1.0 - x);
    }
    sum
}

impl RowSet {
    /// From the number of times that each outcome was seen, all positive; the true row lies in the
    /// set for all numbers of samples with probability $1 - e^{-\text{doubt}}$.
    pub fn new(counts: &[u64], doubt: f64) -> Self {
        let samples: u64 = counts.iter().sum();
        let outcomes = counts.len() as u64;
        let mut ln_q = 0.0;
        if samples > 0 {
            ln_q = ln_rising(outcomes - 1, 0.0) - (outcomes - 1) as f64 * 2f64.ln();
            ln_q -= ln_rising(samples - 1, 0.0);
            ln_q += counts.iter().map(|c| ln_rising(c - 1, 0.5)).sum::<f64>();
        }
        let weights: Vec<f64> = counts.iter().map(|c| (c - 1) as f64).collect();
        RowSet {
            total: weights.iter().sum(),
            weights,
            floor: ln_q - doubt,
        }
    }

    /// The least expectation over the set when outcome $k$ is worth `worth[k]` and whatever else
    /// may happen at least `rest`, which is no more than any of them. Writes the probabilities that
    /// have it, less those of the rest.
    pub fn least(&self, worth: &[f64], rest: f64, p: &mut [f64]) -> f64 {
        let (mut value, mut mass) = (0.0, 0.0);
        self.extreme(worth, rest, p);
        for (p, worth) in p.iter().zip(worth) {
            value += p * worth;
            mass += p;
        }
        value + (1.0 - mass).max(0.0) * rest
    }

    /// The same for the largest expectation, where the rest is worth at most `rest`.
    pub fn most(&self, worth: &[f64], rest: f64, p: &mut [f64]) -> f64 {
        let turned: Vec<f64> = worth.iter().map(|x| -x).collect();
        -self.least(&turned, -rest, p)
    }

    /// $\sum_k w_k \ln p_k$ at $p_k = w_k / (\lambda (x_k - \eta))$, with $\lambda$ such that
    /// $\sum_k p_k = 1$.
    fn level(&self, worth: &[f64], eta: f64) -> f64 {
        let (mut scale, mut sum) = (0.0, 0.0);
        for (w, x) in self.weights.iter().zip(worth).filter(|(w, _)| **w > 0.0) {
            scale += w / (x - eta);
            sum += w * (w / (x - eta)).ln();
        }
        sum - self.total * scale.ln()
    }

    fn extreme(&self, worth: &[f64], rest: f64, p: &mut [f64]) {
        p.fill(0.0);
        if self.total <= 0.0 {
            return;
        }
        let pairs = || self.weights.iter().zip(worth).filter(|(w, _)| **w > 0.0);
        let top = pairs().map(|(_, x)| *x).fold(f64::NEG_INFINITY, f64::max);
        let range = top - rest;
        if range <= 0.0 {
            // every outcome is worth what the rest is
            for (p, w) in p.iter_mut().zip(&self.weights) {
                *p = w / self.total;
            }
            return;
        }
        // with nothing left over the level falls as eta rises to the worst outcome's worth
        let inside = rest - 1e-12 * range;
        let bottom = pairs().map(|(_, x)| *x).fold(f64::INFINITY, f64::min);
        if bottom > inside && self.level(worth, inside) >= self.floor {
            // even then mass is left over: p_k in proportion to w_k / (x_k - rest), as little as
            // may be
            let (mut scale, mut sum) = (0.0, 0.0);
            for (w, x) in pairs() {
                let share = w / (x - inside);
                scale += share;
                sum += w * share.ln();
            }
            let factor = ((self.floor - sum) / self.total).exp();
            for ((p, w), x) in p.iter_mut().zip(&self.weights).zip(worth) {
                if *w > 0.0 {
                    *p = (factor * w / (x - inside)).min(w / (x - inside) / scale);
                }
            }
            return;
        }
        // bisect eta = inside - range * e^y: from nearly the rest to nearly the centre
        let (mut near, mut far) = (-30.0f64, 30.0f64);
        for _ in 0..60 {
            let middle = 0.5 * (near + far);
            if self.level(worth, inside - range * middle.exp()) >= self.floor {
                far = middle;
            } else {
                near = middle;
            }
        }
        // the side on which the constraint is violated by rounding at most is the larger set
        let eta = inside - range * near.exp();
        let scale: f64 = pairs().map(|(w, x)| w / (x - eta)).sum();
        for ((p, w), x) in p.iter_mut().zip(&self.weights).zip(worth) {
            if *w > 0.0 {
                *p = w / (x - eta) / scale;
            }
        }
    }

    /// The largest share of the mass by which a row of the set can differ from the shares seen,
    /// that is half the sum of absolute differences, or a bound of it.
    pub fn distance(&self) -> f64 {
        if self.total <= 0.0 {
            return 1.0;
        }
        let seen = (self.weights.len() as f64 + self.total).max(1.0);
        // from the shares seen, c / n, to the centre of the set, w / total
        let shift = 0.5
            * self
                .weights
                .iter()
                .map(|w| ((w + 1.0) / seen - w / self.total).abs())
                .sum::<f64>();
        let entropy: f64 = self
            .weights
            .iter()
            .filter(|w| **w > 0.0)
            .map(|w| w * (w / self.total).ln())
            .sum();
        // total * KL(centre, p) is at most this
        let radius = ((entropy - self.floor) / self.total).max(0.0);
        let pinsker = (0.5 * radius).sqrt();
        let heaviest = self.weights.iter().fold(0.0, |a: f64, w| a.max(*w)) / self.total;
        // Bretagnolle and Huber; of one outcome exactly what it may lose
        let huber = (1.0 - (-radius).exp()).sqrt();
        let single = if heaviest >= 1.0 {
            1.0 - (-radius).exp()
        } else {
            1.0
        };
        (shift + pinsker.min(huber).min(single)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn one_outcome_has_a_closed_form() {
        // nine more times after the first: p^9 >= Q delta
        let set = RowSet::new(&[10], 3.0);
        let ln_q: f64 = (1..10).map(|i| ((i as f64 - 0.5) / i as f64).ln()).sum();
        let mut p = [0.0];
        let least = set.least(&[1.0], 0.0, &mut p);
        assert!((least - ((ln_q - 3.0) / 9.0).exp()).abs() < 1e-9, "{least}");
        assert!((set.distance() - (1.0 - least)).abs() < 1e-9);
        let most = set.most(&[1.0], 5.0, &mut p);
        assert!((most - (least + 5.0 * (1.0 - least))).abs() < 1e-8);
    }

    #[test]
    fn nothing_in_the_set_has_less() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..200 {
            let m = rng.random_range(1..5);
            let counts: Vec<u64> = (0..m).map(|_| rng.random_range(1..30)).collect();
            let worth: Vec<f64> = (0..m).map(|_| rng.random_range(0.0..1.0)).collect();
            let set = RowSet::new(&counts, 2.0);
            let mut p = vec![0.0; m];
            let least = set.least(&worth, 0.0, &mut p);
            assert!(p.iter().sum::<f64>() <= 1.0 + 1e-9);
            for _ in 0..300 {
                // a random row with some mass elsewhere
                let mut row: Vec<f64> = counts
                    .iter()
                    .map(|c| *c as f64 * rng.random_range(0.3..1.0))
                    .collect();
                let sum: f64 = row.iter().sum::<f64>() * (1.0 + rng.random_range(0.0..0.3));
                row.iter_mut().for_each(|x| *x /= sum);
                let level: f64 = set
                    .weights
                    .iter()
                    .zip(&row)
                    .filter(|(w, _)| **w > 0.0)
                    .map(|(w, p)| w * p.ln())
                    .sum();
                if level >= set.floor {
                    let value: f64 = row.iter().zip(&worth).map(|(p, x)| p * x).sum();
                    assert!(
                        value >= least - 1e-9,
                        "{counts:?} {worth:?}: {value} {least}"
                    );
                    let centre: f64 = counts.iter().sum::<u64>() as f64;
                    let lost = 1.0 - row.iter().sum::<f64>();
                    let apart: f64 = row
                        .iter()
                        .zip(&counts)
                        .map(|(p, c)| (p - *c as f64 / centre).abs())
                        .sum();
                    assert!(0.5 * (apart + lost) <= set.distance() + 1e-9);
                }
            }
        }
    }

    #[test]
    fn the_true_row_is_inside_all_along_as_often_as_stated() {
        // 2,000 runs of up to 100 samples, looked at after each: a tenth may fail
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let truth = [0.5, 0.3, 0.15, 0.05];
        let mut failures = 0;
        for _ in 0..2_000 {
            let mut counts = [0u64; 4];
            let mut inside = true;
            for _ in 0..100 {
                let mut x: f64 = rng.random();
                let drawn = truth.iter().position(|p| {
                    x -= p;
                    x < 0.0
                });
                counts[drawn.unwrap_or(3)] += 1;
                let seen: Vec<usize> = (0..4).filter(|k| counts[*k] > 0).collect();
                let listed: Vec<u64> = seen.iter().map(|k| counts[*k]).collect();
                let set = RowSet::new(&listed, 10f64.ln());
                let level: f64 = seen
                    .iter()
                    .zip(&set.weights)
                    .map(|(k, w)| w * truth[*k].ln())
                    .sum();
                inside &= level >= set.floor;
            }
            failures += usize::from(!inside);
        }
        assert!(failures <= 200, "{failures} of 2000");
        assert!(
            failures > 0,
            "a set that never fails is wider than it need be"
        );
    }
}
