//! Where a chain spends its time in the long run.
//!
//! Each recurrent class has one stationary distribution. Started from $d_0$ the long-run
//! average distribution is their mixture, weighted by the probability of being absorbed in
//! each class. Periodic classes are included: the average exists where the limit does not.
//!
//! The weights come from a stationary distribution too: collapse every recurrent class into
//! one state and let it *restart* from $d_0$. The collapsed chain is irreducible on the part
//! that $d_0$ reaches, and its classes are visited in proportion to the probabilities of
//! absorption. So everything rests on one problem, the stationary distribution of an
//! irreducible chain, and nothing is ever subtracted.
//!
//! | chain | method |
//! |---|---|
//! | small or dense | blocked [GTH](super::gth) elimination |
//! | sparse, up to a few thousand states | sparse GTH elimination, unless it fills in |
//! | larger | power iteration; where slow, sparse elimination; where that fills in, Arnoldi |
//! | larger, of parts whose links are too faint for iteration to feel | sparse elimination; where that fills in, Arnoldi, reported as not converged |

use super::classes::{Classes, RecurrentClass};
use super::power::{self, Forward};
use super::sparse_gth::{self, FillLimit, RowBuilder, Rows};
use super::{Chain, gth};
use crate::model::Kernel;

/// Largest chain that is eliminated densely (32 MB).
pub const DENSE_LIMIT: usize = 2_000;
/// Below this size the dense loop beats any sparse bookkeeping.
const SMALL: usize = 64;
/// From here on iteration comes first where it is for sums: elimination takes longer than the steps
/// until it is known to be slow.
const FEW: usize = 200;
/// Largest residual that counts as converged.
pub const RESIDUAL_TOLERANCE: f64 = 1e-12;

/// Links below this, times the number of states, move so little in one step that iteration counts
/// as converged without having felt them.
const UNFELT: f64 = RESIDUAL_TOLERANCE;

/// How a stationary distribution was found; the least accurate of the methods used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Dense elimination: accurate in every entry.
    Dense,
    /// Sparse elimination: accurate in every entry.
    Sparse,
    /// Power iteration or Arnoldi: accurate as far as the residual says.
    Iterative,
}

impl Method {
    /// Name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Method::Dense => "dense elimination",
            Method::Sparse => "sparse elimination",
            Method::Iterative => "iteration",
        }
    }
}

/// Long-run behaviour of a chain from its start distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct LongRun {
    /// Long-run average state distribution $d$.
    pub distribution: Vec<f64>,
    /// Communicating classes.
    pub classes: Classes,
    /// Probability of ending in each recurrent class.
    pub class_weights: Vec<f64>,
    /// $\max_s |d(s) - (M^\top d)(s)|$, measured.
    pub residual: f64,
    /// The method used.
    pub method: Method,
    /// Whether every iterative part reached a change of at most [`RESIDUAL_TOLERANCE`] in the
    /// sum of absolute differences, and no part was held together by single links too faint to
    /// be felt at that tolerance. Elimination always does.
    pub converged: bool,
}

/// Long-run average distribution of a chain from its start; see the [module](self).
///
/// ```
/// use ide3al::chain::stationary::long_run;
/// use ide3al::model::{Mdp, Policy};
/// // from state 0 to one of two traps
/// let mdp = Mdp::from_triplets(3, 1, [(0, 0, 1, 0.25), (0, 0, 2, 0.75), (1, 0, 1, 1.0), (2, 0, 2, 1.0)])?
///     .with_start_state(0)?;
/// let d = long_run(&mdp.chain(&Policy::uniform(&mdp))).distribution;
/// assert_eq!(d, [0.0, 0.25, 0.75]);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn long_run(chain: &Chain) -> LongRun {
    find(chain, false)
}

/// The same for sums over all states, such as entropies: where the chain clearly mixes fast by
/// iteration, which is quicker than every entry to its last digit.
pub(crate) fn long_run_for_sums(chain: &Chain) -> LongRun {
    find(chain, true)
}

fn find(chain: &Chain, for_sums: bool) -> LongRun {
    let classes = Classes::of(chain);
    let kernel = chain.kernel();
    let n = chain.n_states();
    let mut solver = Solver {
        for_sums,
        method: Method::Dense,
        converged: true,
    };
    let mut distribution;
    let class_weights;
    if classes.is_irreducible() {
        class_weights = vec![1.0];
        distribution = solver.whole(kernel, &classes.recurrent[0]);
    } else {
        class_weights = solver.absorption(chain, &classes);
        distribution = vec![0.0; n];
        let mut local = vec![u32::MAX; n];
        for (class, &weight) in classes.recurrent.iter().zip(&class_weights) {
            if weight > 0.0 {
                let rows = restrict(kernel, &class.states, &mut local);
                let d = solver.irreducible(&rows);
                for (&s, p) in class.states.iter().zip(d) {
                    distribution[s as usize] = weight * p;
                }
            }
        }
    }
    let mut image = vec![0.0; n];
    kernel.transpose_times(&distribution, &mut image);
    let residual = distribution
        .iter()
        .zip(&image)
        .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    LongRun {
        distribution,
        classes,
        class_weights,
        residual,
        method: solver.method,
        converged: solver.converged && residual <= RESIDUAL_TOLERANCE,
    }
}

/// Remembers the least accurate method used.
struct Solver {
    for_sums: bool,
    method: Method,
    converged: bool,
}

impl Solver {
    /// A chain that is one class.
    fn whole(&mut self, kernel: &Kernel, class: &RecurrentClass) -> Vec<f64> {
        let n = kernel.n_rows();
        let dense = n <= SMALL || kernel.has_spread() || is_dense(n, kernel.nnz());
        if n <= DENSE_LIMIT || kernel.has_spread() {
            let quick = self.for_sums && n > FEW;
            if let Some(x) = quick.then(|| power::of_fast_chain(kernel)).flatten() {
                self.method = Method::Iterative;
                return x;
            }
            if n <= DENSE_LIMIT && dense {
                return gth::stationary_dense(n, &mut dense_matrix(kernel));
            }
            return self.general(&with_hub(kernel), n, || {
                (Forward::new(kernel), class.period > 1)
            });
        }
        // no copy of the matrix unless power iteration is slow
        let forward = Forward::new(kernel);
        let found = power::power(&forward, n, class.period > 1);
        let unfelt = hangs_on_faint_links(n, kernel.offsets(), kernel.indices(), kernel.values());
        if found.change <= RESIDUAL_TOLERANCE && !unfelt {
            self.method = Method::Iterative;
            return found.x;
        }
        match sparse_gth::stationary(&with_hub(kernel), FillLimit::default()) {
            Some(x) => {
                self.method = self.method.max(Method::Sparse);
                x
            }
            None => {
                self.converged &= !unfelt;
                self.accept(power::arnoldi(&forward, found))
            }
        }
    }

    /// An irreducible matrix without uniform shares.
    fn irreducible(&mut self, rows: &Rows) -> Vec<f64> {
        let n = rows.n();
        if n <= SMALL || (n <= DENSE_LIMIT && is_dense(n, rows.nnz())) {
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for (j, p) in rows.row(i) {
                    matrix[i * n + j] += p;
                }
            }
            return gth::stationary_dense(n, &mut matrix);
        }
        let kernel = std::cell::OnceCell::new();
        let copy = || {
            Kernel::from_raw(
                n,
                rows.offsets.clone(),
                rows.indices.clone(),
                rows.values.clone(),
                Vec::new(),
            )
        };
        self.general(rows, n, || (Forward::new(kernel.get_or_init(copy)), true))
    }

    /// Sparse elimination of `rows` (whose first `n` states count) or iteration.
    fn general<'k>(
        &mut self,
        rows: &Rows,
        n: usize,
        forward: impl FnOnce() -> (Forward<'k>, bool),
    ) -> Vec<f64> {
        let all = rows.n();
        let eliminate = |limit| {
            let mut x = sparse_gth::stationary(rows, limit)?;
            x.truncate(n);
            gth::normalise(&mut x);
            Some(x)
        };
        if all <= DENSE_LIMIT {
            let limit = FillLimit {
                entries: usize::MAX,
                operations: (all as f64).powi(3) / 16.0,
            };
            if let Some(x) = eliminate(limit) {
                self.method = self.method.max(Method::Sparse);
                return x;
            }
            let mut matrix = vec![0.0; all * all];
            for i in 0..all {
                for (j, p) in rows.row(i) {
                    matrix[i * all + j] += p;
                }
            }
            let mut x = gth::stationary_dense(all, &mut matrix);
            x.truncate(n);
            gth::normalise(&mut x);
            return x;
        }
        let (forward, lazy) = forward();
        let found = power::power(&forward, n, lazy);
        let unfelt = hangs_on_faint_links(all, &rows.offsets, &rows.indices, &rows.values);
        if found.change <= RESIDUAL_TOLERANCE && !unfelt {
            return self.accept(found);
        }
        if let Some(x) = eliminate(FillLimit::default()) {
            self.method = self.method.max(Method::Sparse);
            return x;
        }
        self.converged &= !unfelt;
        self.accept(power::arnoldi(&forward, found))
    }

    fn accept(&mut self, found: power::Approximation) -> Vec<f64> {
        self.method = Method::Iterative;
        self.converged &= found.change <= RESIDUAL_TOLERANCE;
        found.x
    }

    /// Probability of ending in each recurrent class from the start: one if there is just
    /// one, and otherwise by the restarted chain on the transient states that the start
    /// reaches.
    fn absorption(&mut self, chain: &Chain, classes: &Classes) -> Vec<f64> {
        let n_classes = classes.recurrent.len();
        if n_classes == 1 {
            return vec![1.0];
        }
        let (kernel, start) = (chain.kernel(), chain.start());
        let n = chain.n_states();
        let mut weights = vec![0.0; n_classes];
        for (s, p) in start.iter().enumerate() {
            if let Some(class) = classes.recurrent_class_of(s) {
                weights[class] += p;
            }
        }
        let transient = reached_transient(chain, classes);
        if transient.is_empty() {
            return weights;
        }
        // nodes: transient states, classes, the restart, the hub of the uniform shares
        let mut node = vec![u32::MAX; n];
        for (i, &s) in transient.iter().enumerate() {
            node[s as usize] = i as u32;
        }
        let n_transient = transient.len();
        let class_node = |c: usize| (n_transient + c) as u32;
        let target = |s: usize| match classes.recurrent_class_of(s) {
            Some(c) => class_node(c),
            None => node[s],
        };
        let restart = class_node(n_classes);
        let hub = restart + 1;
        let mut builder = RowBuilder::default();
        for &s in &transient {
            let row = kernel.row(s as usize);
            for (t, p) in row.entries().filter(|(_, p)| *p > 0.0) {
                builder.push(target(t), p);
            }
            if row.spread > 0.0 {
                builder.push(hub, row.spread);
            }
            builder.close();
        }
        for _ in 0..n_classes {
            builder.push(restart, 1.0);
            builder.close();
        }
        for (s, &p) in start.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            builder.push(target(s), p);
        }
        builder.close();
        if transient
            .iter()
            .any(|&s| kernel.spread_of(s as usize) > 0.0)
        {
            for s in 0..n {
                builder.push(target(s), 1.0 / n as f64);
            }
            builder.close();
        }
        let rows = builder.rows;
        // classes that the start cannot reach have no way in; leave them out
        let mut reached = vec![false; rows.n()];
        let mut stack = vec![restart as usize];
        reached[restart as usize] = true;
        while let Some(u) = stack.pop() {
            for (v, _) in rows.row(u) {
                if !std::mem::replace(&mut reached[v], true) {
                    stack.push(v);
                }
            }
        }
        let keep: Vec<u32> = (0..rows.n() as u32)
            .filter(|&u| reached[u as usize])
            .collect();
        let mut local = vec![u32::MAX; rows.n()];
        for (i, &u) in keep.iter().enumerate() {
            local[u as usize] = i as u32;
        }
        let mut builder = RowBuilder::default();
        for &u in &keep {
            for (v, p) in rows.row(u as usize) {
                builder.push(local[v], p);
            }
            builder.close();
        }
        let x = self.irreducible(&builder.rows);
        weights.fill(0.0);
        for (c, weight) in weights.iter_mut().enumerate() {
            let place = local[class_node(c) as usize];
            if place != u32::MAX {
                *weight = x[place as usize];
            }
        }
        gth::normalise(&mut weights);
        weights
    }
}

/// Whether an irreducible chain falls into several recurrent classes without the links that
/// iteration cannot feel.
fn hangs_on_faint_links(n: usize, offsets: &[usize], indices: &[u32], values: &[f64]) -> bool {
    let faint = |p: f64| p > 0.0 && p < UNFELT * n as f64;
    if !values.iter().any(|p| faint(*p)) {
        return false;
    }
    let thinned = values.iter().map(|p| if faint(*p) { 0.0 } else { *p });
    let thinned = Kernel::from_raw(
        n,
        offsets.to_vec(),
        indices.to_vec(),
        thinned.collect(),
        Vec::new(),
    );
    Classes::of_kernel(&thinned).recurrent.len() > 1
}

/// Whether a matrix is too full for sparse elimination to pay.
fn is_dense(n: usize, nnz: usize) -> bool {
    nnz > n * n / 12
}

pub(crate) fn dense_matrix(kernel: &Kernel) -> Vec<f64> {
    let n = kernel.n_columns();
    let mut matrix = vec![0.0; kernel.n_rows() * n];
    for (i, out) in matrix.chunks_exact_mut(n).enumerate() {
        let row = kernel.row(i);
        if row.spread > 0.0 {
            out.fill(row.spread / n as f64);
        }
        for (j, p) in row.entries() {
            out[j] += p;
        }
    }
    matrix
}

/// The kernel as plain rows. Uniform shares go through one more state, the hub: watched only
/// outside the hub, this is the same chain.
fn with_hub(kernel: &Kernel) -> Rows {
    let n = kernel.n_rows();
    if !kernel.has_spread() {
        return Rows {
            offsets: kernel.offsets().to_vec(),
            indices: kernel.indices().to_vec(),
            values: kernel.values().to_vec(),
        };
    }
    let mut rows = Rows {
        offsets: Vec::with_capacity(n + 2),
        indices: Vec::with_capacity(kernel.nnz() + 2 * n),
        values: Vec::with_capacity(kernel.nnz() + 2 * n),
    };
    rows.offsets.push(0);
    for i in 0..n {
        let row = kernel.row(i);
        rows.indices.extend_from_slice(row.indices);
        rows.values.extend_from_slice(row.values);
        if row.spread > 0.0 {
            rows.indices.push(n as u32);
            rows.values.push(row.spread);
        }
        rows.offsets.push(rows.indices.len());
    }
    rows.indices.extend(0..n as u32);
    rows.values.extend(std::iter::repeat_n(1.0 / n as f64, n));
    rows.offsets.push(rows.indices.len());
    rows
}

/// The rows of a closed class, renumbered. `local` is scratch.
fn restrict(kernel: &Kernel, states: &[u32], local: &mut [u32]) -> Rows {
    for (i, &s) in states.iter().enumerate() {
        local[s as usize] = i as u32;
    }
    let mut rows = Rows {
        offsets: vec![0],
        indices: Vec::new(),
        values: Vec::new(),
    };
    for &s in states {
        // a closed class of a reducible chain has no uniform share
        for (t, p) in kernel.row(s as usize).entries().filter(|(_, p)| *p > 0.0) {
            rows.indices.push(local[t]);
            rows.values.push(p);
        }
        rows.offsets.push(rows.indices.len());
    }
    rows
}

/// Transient states that the start distribution reaches, ascending.
fn reached_transient(chain: &Chain, classes: &Classes) -> Vec<u32> {
    let kernel = chain.kernel();
    let n = chain.n_states();
    let mut seen = vec![false; n];
    let mut stack: Vec<u32> = Vec::new();
    let mut visit = |s: usize, stack: &mut Vec<u32>| {
        if classes.recurrent_class_of(s).is_none() && !std::mem::replace(&mut seen[s], true) {
            stack.push(s as u32);
        }
    };
    for (s, _) in chain.start().iter().enumerate().filter(|(_, p)| **p > 0.0) {
        visit(s, &mut stack);
    }
    let mut spread_seen = false;
    while let Some(s) = stack.pop() {
        let row = kernel.row(s as usize);
        for (t, _) in row.entries().filter(|(_, p)| *p > 0.0) {
            visit(t, &mut stack);
        }
        if row.spread > 0.0 && !std::mem::replace(&mut spread_seen, true) {
            for t in 0..n {
                visit(t, &mut stack);
            }
        }
    }
    (0..n as u32).filter(|&s| seen[s as usize]).collect()
}
