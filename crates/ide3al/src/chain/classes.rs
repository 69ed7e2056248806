//! Which states communicate, which classes are recurrent, and with what period.
//!
//! States $s$ and $t$ *communicate* when each can be reached from the other. The classes of
//! this relation are the strongly connected components of the graph of positive
//! probabilities; a class that no edge leaves is *recurrent*, all others are *transient*. The
//! *period* of a recurrent class is the greatest common divisor of the lengths of its cycles.

use super::Chain;
use crate::model::Kernel;

const UNSEEN: u32 = u32::MAX;

/// The decomposition of a chain into communicating classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Number of communicating classes, transient ones included.
    pub n_classes: usize,
    /// The recurrent classes, ordered by their smallest state.
    pub recurrent: Vec<RecurrentClass>,
    /// Place of each state's class in `recurrent`, or `None` for a transient state.
    class_of: Vec<u32>,
}

/// A closed communicating class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurrentClass {
    /// Its states, ascending.
    pub states: Vec<u32>,
    /// Greatest common divisor of its cycle lengths.
    pub period: usize,
}

impl Classes {
    /// Decomposes a chain by an iterative form of Tarjan's algorithm in
    /// $O(\text{nnz} + S)$ time and memory. A row with a uniform share reaches every state;
    /// one virtual node that all such rows enter, and that leads to every state, stands for
    /// these edges.
    ///
    /// Reference: Tarjan (1972), *SIAM Journal on Computing* 1, 146-160.
    pub fn of(chain: &Chain) -> Self {
        Self::of_kernel(chain.kernel())
    }

    pub(crate) fn of_kernel(kernel: &Kernel) -> Self {
        let n = kernel.n_rows();
        let (component, n_components) = components(kernel);
        // a class is closed when no edge leaves it; the hub counts as a node
        let mut closed = vec![true; n_components];
        let mut has_state = vec![false; n_components];
        let hub = component.get(n).copied();
        for s in 0..n {
            let own = component[s] as usize;
            has_state[own] = true;
            let row = kernel.row(s);
            let leaves = row
                .entries()
                .any(|(t, p)| p > 0.0 && component[t] as usize != own)
                || (row.spread > 0.0 && hub != Some(own as u32));
            if leaves {
                closed[own] = false;
            }
        }
        if let Some(hub) = hub
            && component[..n].iter().any(|c| *c != hub)
        {
            closed[hub as usize] = false;
        }
        let mut place = vec![UNSEEN; n_components];
        let mut recurrent: Vec<RecurrentClass> = Vec::new();
        let mut class_of = vec![UNSEEN; n];
        for s in 0..n {
            let own = component[s] as usize;
            if !closed[own] {
                continue;
            }
            if place[own] == UNSEEN {
                place[own] = recurrent.len() as u32;
                recurrent.push(RecurrentClass {
                    states: Vec::new(),
                    period: 1,
                });
            }
            class_of[s] = place[own];
            recurrent[place[own] as usize].states.push(s as u32);
        }
        let mut level = vec![UNSEEN; n];
        for class in &mut recurrent {
            class.period = period(kernel, &class.states, &mut level);
        }
        Classes {
            n_classes: has_state.iter().filter(|h| **h).count(),
            recurrent,
            class_of,
        }
    }

    /// Place in [`recurrent`](Self::recurrent) of the class of a state; `None` if transient.
    pub fn recurrent_class_of(&self, state: usize) -> Option<usize> {
        let class = self.class_of[state];
        (class != UNSEEN).then_some(class as usize)
    }

    /// Number of transient states.
    pub fn n_transient(&self) -> usize {
        self.class_of.iter().filter(|c| **c == UNSEEN).count()
    }

    /// Whether all states form one class.
    pub fn is_irreducible(&self) -> bool {
        self.n_classes == 1
    }

    /// Least common multiple of the periods of the recurrent classes: the period of the
    /// sequence of state distributions in the long run. Saturates at `usize::MAX`.
    pub fn period(&self) -> usize {
        self.recurrent.iter().fold(1, |l, class| {
            (l / gcd(l, class.period)).saturating_mul(class.period)
        })
    }

    /// Whether $M^t$ converges to one distribution from every start: a single recurrent
    /// class, of period one.
    pub fn is_mixing(&self) -> bool {
        self.recurrent.len() == 1 && self.recurrent[0].period == 1
    }
}

/// Strongly connected component of every state (and of the hub, last, where rows have a
/// uniform share), and how many there are.
pub(crate) fn components(kernel: &Kernel) -> (Vec<u32>, usize) {
    let n = kernel.n_rows();
    let nodes = n + usize::from(kernel.has_spread());
    let (offsets, indices, values) = (kernel.offsets(), kernel.indices(), kernel.values());
    // edge number e of a node: its stored entries, then the hub
    let edge = |node: usize, e: usize| -> Option<Option<usize>> {
        if node == n {
            return (e < n).then_some(Some(e));
        }
        let k = offsets[node] + e;
        if k < offsets[node + 1] {
            return Some((values[k] > 0.0).then_some(indices[k] as usize));
        }
        let hub = k == offsets[node + 1] && kernel.spread_of(node) > 0.0;
        hub.then_some(Some(n))
    };
    let mut order = vec![UNSEEN; nodes];
    let mut low = vec![0u32; nodes];
    let mut component = vec![UNSEEN; nodes];
    let mut stack: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let (mut counter, mut n_components) = (0u32, 0u32);
    for root in 0..nodes {
        if order[root] != UNSEEN {
            continue;
        }
        calls.push((root as u32, 0));
        while let Some((node, next)) = calls.last_mut() {
            let v = *node as usize;
            if *next == 0 && order[v] == UNSEEN {
                order[v] = counter;
                low[v] = counter;
                counter += 1;
                stack.push(v as u32);
            }
            let target = edge(v, *next as usize);
            *next += 1;
            match target {
                Some(Some(w)) if order[w] == UNSEEN => calls.push((w as u32, 0)),
                Some(Some(w)) => {
                    if component[w] == UNSEEN {
                        low[v] = low[v].min(order[w]);
                    }
                }
                Some(None) => {}
                None => {
                    calls.pop();
                    if low[v] == order[v] {
                        while let Some(w) = stack.pop() {
                            component[w as usize] = n_components;
                            if w as usize == v {
                                break;
                            }
                        }
                        n_components += 1;
                    }
                    if let Some(&(parent, _)) = calls.last() {
                        let parent = parent as usize;
                        low[parent] = low[parent].min(low[v]);
                    }
                }
            }
        }
    }
    (component, n_components as usize)
}

/// Period of a closed class by breadth-first levels: every edge $u \to v$ closes cycles
/// whose lengths differ by multiples of $\ell(u) + 1 - \ell(v)$.
fn period(kernel: &Kernel, states: &[u32], level: &mut [u32]) -> usize {
    let spread = |s: u32| kernel.spread_of(s as usize) > 0.0;
    if states.iter().any(|s| spread(*s)) {
        // a uniform share includes a step back to the same state
        return 1;
    }
    let Some(&first) = states.first() else {
        return 1;
    };
    let mut queue = Vec::with_capacity(states.len());
    level[first as usize] = 0;
    queue.push(first);
    let mut divisor = 0usize;
    let mut head = 0;
    while head < queue.len() {
        let u = queue[head] as usize;
        head += 1;
        for (v, p) in kernel.row(u).entries() {
            if p <= 0.0 {
                continue;
            }
            if level[v] == UNSEEN {
                level[v] = level[u] + 1;
                queue.push(v as u32);
            } else {
                divisor = gcd(divisor, (level[u] + 1).abs_diff(level[v]) as usize);
            }
        }
        if divisor == 1 {
            return 1;
        }
    }
    divisor.max(1)
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::needless_range_loop)]
mod tests {
    use super::*;

    fn chain(n: usize, entries: &[(usize, usize, f64)], spread: Vec<f64>) -> Chain {
        Chain::from_entries(n, entries, spread)
    }

    #[test]
    fn two_cycles_and_a_way_in() {
        // 0 transient; {1,2,3} a 3-cycle; {4,5} a 2-cycle
        let chain = chain(
            6,
            &[
                (0, 1, 0.5),
                (0, 4, 0.5),
                (1, 2, 1.0),
                (2, 3, 1.0),
                (3, 1, 1.0),
                (4, 5, 1.0),
                (5, 4, 1.0),
            ],
            vec![],
        );
        let classes = Classes::of(&chain);
        assert_eq!(classes.n_classes, 3);
        assert_eq!(classes.n_transient(), 1);
        let periods: Vec<_> = classes.recurrent.iter().map(|c| c.period).collect();
        assert_eq!(periods, [3, 2]);
        assert_eq!(classes.period(), 6);
        assert_eq!(classes.recurrent[1].states, [4, 5]);
        assert_eq!(classes.recurrent_class_of(0), None);
        assert_eq!(classes.recurrent_class_of(5), Some(1));
    }

    #[test]
    fn a_recurrent_uniform_share_joins_everything() {
        // a 2-cycle and a state of its own, tied together by a share of state 2
        let chain = chain(
            3,
            &[(0, 1, 1.0), (1, 0, 0.5), (1, 2, 0.5)],
            vec![0.0, 0.0, 1.0],
        );
        let classes = Classes::of(&chain);
        assert!(classes.is_irreducible());
        assert!(classes.is_mixing());
    }

    #[test]
    fn a_transient_uniform_share_stays_transient() {
        // state 2 jumps anywhere, states 0 and 1 hop between each other for ever
        let chain = chain(3, &[(0, 1, 1.0), (1, 0, 1.0)], vec![0.0, 0.0, 1.0]);
        let classes = Classes::of(&chain);
        assert_eq!((classes.n_classes, classes.recurrent.len()), (2, 1));
        assert_eq!(classes.recurrent[0].period, 2);
        assert_eq!(classes.recurrent[0].states, [0, 1]);
    }

    #[test]
    fn matches_reachability_on_random_graphs() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..300 {
            let n = rng.random_range(1..9usize);
            let mut entries = Vec::new();
            for s in 0..n {
                let degree = rng.random_range(1..3usize);
                let targets: Vec<_> = (0..degree).map(|_| rng.random_range(0..n)).collect();
                for t in targets {
                    entries.push((s, t, 1.0 / degree as f64));
                }
            }
            let classes = Classes::of(&chain(n, &entries, vec![]));
            let mut reach = vec![vec![false; n]; n];
            (0..n).for_each(|s| reach[s][s] = true);
            entries.iter().for_each(|&(s, t, _)| reach[s][t] = true);
            for k in 0..n {
                for i in 0..n {
                    for j in 0..n {
                        reach[i][j] |= reach[i][k] && reach[k][j];
                    }
                }
            }
            for s in 0..n {
                let recurrent = (0..n).all(|t| !reach[s][t] || reach[t][s]);
                assert_eq!(classes.recurrent_class_of(s).is_some(), recurrent);
            }
            let distinct = (0..n)
                .filter(|&s| (0..s).all(|t| !(reach[s][t] && reach[t][s])))
                .count();
            assert_eq!(classes.n_classes, distinct);
        }
    }
}
