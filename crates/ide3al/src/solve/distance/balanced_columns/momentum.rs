//! Momentum: a vector and its last place.

use ide3al_numerics::parallel::blocks;

/// A vector that moves with momentum: where it is, and where it was a step before.
pub(in crate::solve::distance) struct MomentumIterate {
    pub(in crate::solve::distance) now: Vec<f64>,
    pub(super) before: Vec<f64>,
}

impl MomentumIterate {
    pub(super) fn at(now: Vec<f64>) -> Self {
        MomentumIterate {
            before: now.clone(),
            now,
        }
    }

    /// Goes on from the extrapolated point by `push`, and into the feasible set by `project`, block
    /// by block.
    pub(super) fn step(
        &mut self,
        first: &[usize],
        share: f64,
        push: impl Fn(usize) -> f64 + Sync,
        project: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        std::mem::swap(&mut self.now, &mut self.before);
        let here = &self.before;
        blocks(first, &mut self.now, |s, row| {
            for (i, old) in (first[s]..).zip(row.iter_mut()) {
                *old = here[i] + share * (here[i] - *old) + push(i);
            }
            project(s, row);
        });
    }

    /// The last point again, without momentum.
    pub(super) fn take_back(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.forget();
    }

    /// Without momentum.
    pub(super) fn forget(&mut self) {
        self.before.copy_from_slice(&self.now);
    }
}
