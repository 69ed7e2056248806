//! What is slow in a chain: powers $M^t$ for large $t$, in few numbers.
//!
//! After $s$ steps all that decays fast is gone, and $E_s = M^s - \mathbf 1 d^\top$ has a range of
//! few dimensions but for rounding. An orthonormal basis $Q$ of it is found by following random
//! functions for $s$ steps (Halko, Martinsson and Tropp 2011, *SIAM Review* 53, 217-288), and with
//! $B = Q^\top E_s$, found by following $Q$ backwards,
//!
//! $$E_s = Q B, \qquad E_{ks} = Q\, (B Q)^{k-1} B .$$
//!
//! How much of $E_s$ is missing is told by random functions that had no part in $Q$: the mean
//! square of $(E_s - QB)\,\omega$ over signs $\omega$ is the squared Frobenius norm.

use faer::Mat;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::block::{Block, BothWays, LANES, take_off_mass, take_off_mean};
use super::krylov::{add, dot, norm};

/// Blocks of functions that are followed; one more only judges. More of them would need fewer
/// steps, but all that is done with them costs more.
const FOLLOWED: usize = 16;
/// The range is found when the last function followed adds less than this share of the first: what
/// random ones miss is of the order of that.
const FOUND: f64 = 1e-14;
/// Functions that add no more than this share are rounding.
const ROUNDING: f64 = 1e-15;
/// Steps before the first look.
const FIRST: u64 = 64;
/// So many times the steps that are needed are taken: what is missing falls by another two digits.
const LATER: f64 = 1.15;
/// Multiplications for following: two seconds' work on two cores, and nearly as much backwards.
const WORK: f64 = 2e10;

/// $E_s = Q B$ of a chain.
pub(super) struct SlowPart<'a> {
    pub(super) chain: &'a BothWays<'a>,
    pub(super) d: &'a [f64],
    /// $s$.
    pub(super) steps: u64,
    /// $Q$, a row for each state.
    pub(super) left: Mat<f64>,
    /// $B^\top$.
    right: Vec<Block>,
    /// About $\lVert E_s - Q B \rVert_F$.
    pub(super) error: f64,
}

impl<'a> SlowPart<'a> {
    /// Of a chain with stationary distribution `d`, after as few steps as will do, and no more than
    /// `most`. Nothing where the range still has too many dimensions then, or following would take
    /// too long.
    pub(super) fn new(chain: &'a BothWays<'a>, d: &'a [f64], most: u64) -> Option<Self> {
        let n = d.len();
        let followed = FOLLOWED.min(n.div_ceil(LANES));
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0x510_3a27);
        let mut sign = || if rng.random::<bool>() { 1.0 } else { -1.0 };
        let mut signs = || -> Block { (0..n).map(|_| std::array::from_fn(|_| sign())).collect() };
        let mut functions: Vec<Block> = (0..followed).map(|_| signs()).collect();
        let judges = signs();
        functions.push(judges.clone());
        let work = (functions.len() * chain.work()) as f64;
        let (mut steps, mut next, mut found) = (0, FIRST, false);
        loop {
            let more = next.min(most) - steps;
            if more == 0 && !found {
                return None;
            }
            // E Ω = M^s (Ω - 1 d'Ω); in exact numbers what has no mean keeps none
            each(&mut functions, |x, room| {
                take_off_mean(x, d);
                chain.times(more, x, room);
                take_off_mean(x, d);
            });
            steps += more;
            if found {
                break;
            }
            // no range has more dimensions than there are states
            let all = followed * LANES >= n;
            let added = if all {
                0.0
            } else {
                added_last(&functions[..followed])
            };
            found = added <= FOUND;
            // about the same share of it goes with every step
            let needed = LATER * steps as f64 * (FOUND.ln() / added.ln()).max(1.0);
            if !(work * needed <= WORK) {
                return None;
            }
            next = (2 * steps).min(needed as u64 + 1);
        }
        // Q, and E'Q = (M')^s (Q - d 1'Q)
        let basis = basis(&functions[..followed]);
        if basis.is_empty() {
            return None;
        }
        let entry = |c: usize, i: usize| basis.get(c).map_or(0.0, |column| column[i]);
        let column = |block: usize, i: usize| std::array::from_fn(|c| entry(LANES * block + c, i));
        let block = |block: usize| -> Block { (0..n).map(|i| column(block, i)).collect() };
        let mut right: Vec<Block> = (0..basis.len().div_ceil(LANES)).map(block).collect();
        let left = matrix(&right);
        each(&mut right, |x, _| take_off_mass(x, d));
        let mut slow = SlowPart {
            chain,
            d,
            steps,
            left,
            right,
            error: 0.0,
        };
        slow.advance(steps);
        let images = matrix(&functions[followed..]);
        let seen = slow.right().transpose() * matrix(&[judges]);
        let missed = images - &slow.left * seen;
        slow.error = missed.norm_l2() / (LANES as f64).sqrt();
        Some(slow)
    }

    /// $B^\top$, a row for each state.
    pub(super) fn right(&self) -> Mat<f64> {
        matrix(&self.right)
    }

    /// Goes on by some steps: $E_{s+v} = Q B M^v$.
    pub(super) fn advance(&mut self, steps: u64) {
        let (chain, d) = (self.chain, self.d);
        each(&mut self.right, |x, room| {
            chain.differences(steps, d, x, room)
        });
    }
}

/// Calls `f` for every block, with room for another, on all threads.
fn each(blocks: &mut [Block], f: impl Fn(&mut Block, &mut Block) + Sync) {
    blocks.par_iter_mut().for_each(|block| {
        let mut room = block.clone();
        f(block, &mut room);
    });
}

/// The vectors of blocks as columns.
fn matrix(blocks: &[Block]) -> Mat<f64> {
    let n = blocks.first().map_or(0, Vec::len);
    Mat::from_fn(n, LANES * blocks.len(), |i, c| {
        blocks[c / LANES][i][c % LANES]
    })
}

/// What the last of these functions adds to what the others span, as a share of what the first ones
/// add. They are images of random ones, in no order: the first as many as there are dimensions span
/// all.
fn added_last(functions: &[Block]) -> f64 {
    let qr = matrix(functions).qr();
    let r = qr.thin_R();
    let added = |k: usize| r[(k, k)].abs();
    let largest = (0..r.ncols()).map(added).fold(0.0, f64::max);
    added(r.ncols() - 1) / largest
}

/// An orthonormal basis of what functions span but for rounding, by Gram and Schmidt: what one adds
/// is taken twice, so that it has digits of its own however little it is.
fn basis(functions: &[Block]) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut largest = 0.0f64;
    for (block, c) in functions
        .iter()
        .flat_map(|b| (0..LANES).map(move |c| (b, c)))
    {
        let mut own: Vec<f64> = block.iter().map(|x| x[c]).collect();
        for _ in 0..2 {
            for other in &basis {
                let along = dot(other, &own);
                add(&mut own, -along, other);
            }
        }
        let size = norm(&own);
        largest = largest.max(size);
        if size > ROUNDING * largest {
            own.iter_mut().for_each(|x| *x /= size);
            basis.push(own);
        }
    }
    basis
}
