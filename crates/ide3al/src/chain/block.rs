//! A chain applied to several vectors at once: one pass over its entries serves all of them.

use crate::model::Kernel;

/// Vectors in a block: one number of each fits into the processor's registers, and a block of some
/// thousand states into its cache.
pub(super) const LANES: usize = 8;

/// For each state a number of each vector.
pub(super) type Block = Vec<[f64; LANES]>;

/// A chain with its entries by row and by column.
pub(super) struct BothWays<'a> {
    kernel: &'a Kernel,
    transposed: Kernel,
}

impl<'a> BothWays<'a> {
    pub(super) fn new(kernel: &'a Kernel) -> Self {
        BothWays {
            kernel,
            transposed: kernel.transpose(),
        }
    }

    /// Multiplications of one product with a block.
    pub(super) fn work(&self) -> usize {
        LANES * (self.kernel.nnz() + self.transposed.n_rows())
    }

    /// Replaces functions $x$ of the state by $M^t x$; `other` is room.
    pub(super) fn times(&self, steps: u64, x: &mut Block, other: &mut Block) {
        let kernel = self.kernel;
        for _ in 0..steps {
            let mut mean = [0.0; LANES];
            if kernel.has_spread() {
                x.iter().for_each(|x| add(&mut mean, 1.0, x));
                mean.iter_mut().for_each(|m| *m /= x.len() as f64);
            }
            for (i, target) in other.iter_mut().enumerate() {
                *target = [0.0; LANES];
                add(target, kernel.spread_of(i), &mean);
                add_row(target, kernel, i, x);
            }
            std::mem::swap(x, other);
        }
    }

    /// Replaces distributions $x$ by $(M^\top)^t x$; `other` is room.
    pub(super) fn arrivals(&self, steps: u64, x: &mut Block, other: &mut Block) {
        let kernel = self.kernel;
        for _ in 0..steps {
            let mut share = [0.0; LANES];
            if kernel.has_spread() {
                let n = x.len() as f64;
                for (i, x) in x.iter().enumerate() {
                    add(&mut share, kernel.spread_of(i) / n, x);
                }
            }
            for (j, target) in other.iter_mut().enumerate() {
                *target = share;
                add_row(target, &self.transposed, j, x);
            }
            std::mem::swap(x, other);
        }
    }

    /// What distributions differ by from the long run `d`, some steps later. It has no mass: what
    /// rounding gives it would never be forgotten.
    pub(super) fn differences(&self, steps: u64, d: &[f64], x: &mut Block, other: &mut Block) {
        self.arrivals(steps, x, other);
        take_off_mass(x, d);
    }
}

/// Takes their mean under `d` off functions: $x - \mathbf 1 d^\top x$.
pub(super) fn take_off_mean(x: &mut Block, d: &[f64]) {
    let mut mean = [0.0; LANES];
    x.iter().zip(d).for_each(|(x, d)| add(&mut mean, *d, x));
    x.iter_mut().for_each(|x| add(x, -1.0, &mean));
}

/// Takes their mass off distributions: $x - d\, \mathbf 1^\top x$.
pub(super) fn take_off_mass(x: &mut Block, d: &[f64]) {
    let mut mass = [0.0; LANES];
    x.iter().for_each(|x| add(&mut mass, 1.0, x));
    x.iter_mut().zip(d).for_each(|(x, d)| add(x, -d, &mass));
}

fn add(target: &mut [f64; LANES], factor: f64, x: &[f64; LANES]) {
    for (t, x) in target.iter_mut().zip(x) {
        *t += factor * x;
    }
}

/// Adds the stored entries of a row times the block.
fn add_row(target: &mut [f64; LANES], stored: &Kernel, i: usize, x: &Block) {
    let row = stored.row(i);
    let mut sums = *target;
    for (&j, &p) in row.indices.iter().zip(row.values) {
        add(&mut sums, p, &x[j as usize]);
    }
    *target = sums;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;

    /// Number by number the same as the products with one vector, uniform rows included.
    #[test]
    fn a_block_is_its_vectors() {
        let entries = [
            (0, 1, 0.5),
            (0, 2, 0.5),
            (1, 2, 0.3),
            (2, 0, 1.0),
            (3, 3, 0.9),
            (3, 0, 0.1),
        ];
        let chain = Chain::from_entries(4, &entries, vec![0.0, 0.7, 0.0, 0.0]);
        let kernel = chain.kernel();
        let both = BothWays::new(kernel);
        let number = |i: usize, c: usize| ((LANES * i + c) as f64 * 0.37).sin();
        let x: Block = (0..4)
            .map(|i| std::array::from_fn(|c| number(i, c)))
            .collect();
        let (mut after, mut before, mut room) = (x.clone(), x.clone(), x.clone());
        both.times(2, &mut after, &mut room);
        both.arrivals(2, &mut before, &mut room);
        for c in 0..LANES {
            let (mut times, mut arrivals) = (vec![0.0; 4], vec![0.0; 4]);
            let given: Vec<f64> = (0..4).map(|i| number(i, c)).collect();
            kernel.times(&given, &mut arrivals);
            kernel.times(&arrivals, &mut times);
            let mut once = vec![0.0; 4];
            kernel.transpose_times(&given, &mut once);
            kernel.transpose_times(&once, &mut arrivals);
            for i in 0..4 {
                assert!((after[i][c] - times[i]).abs() < 1e-15);
                assert!((before[i][c] - arrivals[i]).abs() < 1e-15);
            }
        }
    }
}
