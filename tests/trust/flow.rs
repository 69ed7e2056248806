//! A maximum flow in floating point (Dinic), for small networks.

/// What is left of a capacity below this is nothing.
const NOTHING: f64 = 1e-14;

pub(crate) struct Network {
    /// Arcs out of each node.
    out: Vec<Vec<usize>>,
    /// Head and remaining capacity; arc `k ^ 1` is the way back.
    arcs: Vec<(usize, f64)>,
}

impl Network {
    pub(crate) fn new(nodes: usize) -> Self {
        Network {
            out: vec![Vec::new(); nodes],
            arcs: Vec::new(),
        }
    }

    pub(crate) fn arc(&mut self, from: usize, to: usize, capacity: f64) {
        if capacity > NOTHING {
            self.out[from].push(self.arcs.len());
            self.arcs.push((to, capacity));
            self.out[to].push(self.arcs.len());
            self.arcs.push((from, 0.0));
        }
    }

    pub(crate) fn maximum(&mut self, source: usize, sink: usize) -> f64 {
        let mut total = 0.0;
        loop {
            let mut level = vec![usize::MAX; self.out.len()];
            level[source] = 0;
            let mut queue = std::collections::VecDeque::from([source]);
            while let Some(node) = queue.pop_front() {
                for &k in &self.out[node] {
                    let (to, capacity) = self.arcs[k];
                    if capacity > NOTHING && level[to] == usize::MAX {
                        level[to] = level[node] + 1;
                        queue.push_back(to);
                    }
                }
            }
            if level[sink] == usize::MAX {
                return total;
            }
            let mut next = vec![0; self.out.len()];
            loop {
                let pushed = self.push(source, sink, f64::INFINITY, &level, &mut next);
                if pushed <= NOTHING {
                    break;
                }
                total += pushed;
            }
        }
    }

    fn push(
        &mut self,
        node: usize,
        sink: usize,
        most: f64,
        level: &[usize],
        next: &mut [usize],
    ) -> f64 {
        if node == sink {
            return most;
        }
        while next[node] < self.out[node].len() {
            let k = self.out[node][next[node]];
            let (to, capacity) = self.arcs[k];
            if capacity > NOTHING && level[to] == level[node] + 1 {
                let pushed = self.push(to, sink, most.min(capacity), level, next);
                if pushed > NOTHING {
                    self.arcs[k].1 -= pushed;
                    self.arcs[k ^ 1].1 += pushed;
                    return pushed;
                }
            }
            next[node] += 1;
        }
        0.0
    }
}
