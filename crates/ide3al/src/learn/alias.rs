//! Walker's alias method: a draw from any finite distribution in constant time.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// One column of an alias table: keep `own` while the fraction is below the threshold,
/// otherwise take `other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    threshold: u64,
    own: u32,
    other: u32,
}

/// Draws from the distribution stored in `slots`.
///
/// One 64-bit number $x$ picks the column $\lfloor x n / 2^{64} \rfloor$; the remaining
/// fraction of that product decides between the two outcomes. Probabilities are met to
/// $n\,2^{-64}$.
#[inline]
pub(crate) fn draw(slots: &[Slot], rng: &mut ChaCha8Rng) -> u32 {
    if let [only] = slots {
        // a sure outcome costs no random number
        return only.own;
    }
    let product = u128::from(rng.next_u64()) * slots.len() as u128;
    let slot = slots[(product >> 64) as usize];
    if (product as u64) < slot.threshold {
        slot.own
    } else {
        slot.other
    }
}

/// Reusable space for building tables.
#[derive(Debug, Default, Clone)]
pub(crate) struct Builder {
    scaled: Vec<f64>,
    small: Vec<u32>,
    large: Vec<u32>,
}

impl Builder {
    /// Appends the table of a distribution over `outcomes` to `slots`: as many slots as
    /// there are outcomes. Weights need only be proportional to probabilities; their sum
    /// must be positive. Cost $O(n)$.
    pub(crate) fn append(
        &mut self,
        outcomes: impl Iterator<Item = (u32, f64)>,
        slots: &mut Vec<Slot>,
    ) {
        let first = slots.len();
        self.scaled.clear();
        for (own, weight) in outcomes {
            self.scaled.push(weight);
            slots.push(Slot {
                threshold: u64::MAX,
                own,
                other: own,
            });
        }
        let slots = &mut slots[first..];
        let n = slots.len() as f64;
        let sum: f64 = self.scaled.iter().sum();
        self.small.clear();
        self.large.clear();
        for (k, weight) in self.scaled.iter_mut().enumerate() {
            *weight *= n / sum;
            if *weight < 1.0 {
                self.small.push(k as u32);
            } else {
                self.large.push(k as u32);
            }
        }
        while let (Some(&small), Some(&large)) = (self.small.last(), self.large.last()) {
            self.small.pop();
            let (i, j) = (small as usize, large as usize);
            // the cast saturates at both ends
            slots[i].threshold = (self.scaled[i] * 18_446_744_073_709_551_616.0) as u64;
            slots[i].other = slots[j].own;
            self.scaled[j] -= 1.0 - self.scaled[i];
            if self.scaled[j] < 1.0 {
                self.large.pop();
                self.small.push(large);
            }
        }
        // whatever is left is one up to rounding and keeps its own outcome, but an outcome
        // of probability zero must never be drawn
        if let Some(heaviest) = slots
            .iter()
            .zip(&self.scaled)
            .filter(|(slot, _)| slot.threshold == u64::MAX)
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map(|(slot, _)| slot.own)
        {
            for k in &self.small {
                let slot = &mut slots[*k as usize];
                if self.scaled[*k as usize] < 0.5 {
                    slot.threshold = 0;
                    slot.other = heaviest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The probability a table gives to each outcome, read off its thresholds.
    fn probabilities(slots: &[Slot], n: usize) -> Vec<f64> {
        let mut p = vec![0.0; n];
        for slot in slots {
            let kept = slot.threshold as f64 / 18_446_744_073_709_551_616.0;
            p[slot.own as usize] += kept / slots.len() as f64;
            p[slot.other as usize] += (1.0 - kept) / slots.len() as f64;
        }
        p
    }

    #[test]
    fn tables_hold_the_distribution_exactly() {
        let cases: [&[f64]; 5] = [
            &[0.1, 0.9],
            &[0.25, 0.25, 0.25, 0.25],
            &[0.0, 0.7, 0.0, 0.3],
            &[1e-12, 0.5, 0.5 - 1e-12],
            &[1.0],
        ];
        let mut builder = Builder::default();
        for case in cases {
            let mut slots = Vec::new();
            builder.append(
                case.iter().enumerate().map(|(k, &p)| (k as u32, p)),
                &mut slots,
            );
            for (p, q) in probabilities(&slots, case.len()).iter().zip(case) {
                assert!((p - q).abs() < 1e-15, "{case:?}: {p} for {q}");
            }
        }
    }

    #[test]
    fn draws_follow_the_table() {
        let weights = [0.05, 0.6, 0.35];
        let mut slots = Vec::new();
        Builder::default().append(
            weights.iter().enumerate().map(|(k, &p)| (k as u32, p)),
            &mut slots,
        );
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut seen = [0u32; 3];
        let n = 300_000;
        for _ in 0..n {
            seen[draw(&slots, &mut rng) as usize] += 1;
        }
        for (count, p) in seen.iter().zip(weights) {
            let deviation = (f64::from(*count) - f64::from(n) * p).abs();
            assert!(deviation < 5.0 * (f64::from(n) * p * (1.0 - p)).sqrt());
        }
    }
}
