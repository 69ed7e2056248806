//! Which entries a front holds, and where.

use super::super::nested_dissection::{Block, dissect};

/// A block of pivots with its border.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) pivots: Vec<u32>,
    /// The vertices that the pivots border on when they are eliminated, in the order in which these
    /// are eliminated later.
    pub(super) border: Vec<u32>,
    pub(super) parent: Option<usize>,
    /// One more than the numbers of its children, where their subtrees end.
    pub(super) ends: Vec<usize>,
    /// Where the border lies in the parent's front.
    pub(super) place: Vec<u32>,
    /// Entries of the pattern that are assembled here: number, and place in the front.
    pub(super) entries: Vec<(u32, u32)>,
    /// Multiplications in the subtree, about.
    pub(super) work_below: u64,
}

impl Node {
    /// Rows and columns of the front.
    pub(super) fn size(&self) -> usize {
        self.pivots.len() + self.border.len()
    }
}

/// The fronts of a pattern.
#[derive(Debug, Clone)]
pub struct Symbolic {
    pub(super) nodes: Vec<Node>,
    /// Where the trees end.
    roots: Vec<usize>,
    /// Node of each vertex, and the place of its diagonal entry in the front.
    pub(super) diagonal: Vec<(u32, u32)>,
}

impl Symbolic {
    /// For a square matrix of `n` rows with entries at `(rows[k], columns[k])` and on the diagonal.
    pub fn new(n: usize, rows: &[u32], columns: &[u32]) -> Self {
        let (offsets, neighbours) = symmetric(n, rows, columns);
        let blocks = dissect(&offsets, &neighbours);
        let cut = Self::of_blocks(blocks, (&offsets, &neighbours), rows, columns);
        // fronts that overlap so much hold more numbers than the whole matrix does
        if cut.size() <= n * n {
            return cut;
        }
        let whole = Block {
            pivots: (0..n as u32).collect(),
            parent: None,
            first: 0,
        };
        Self::of_blocks(vec![whole], (&offsets, &neighbours), rows, columns)
    }

    fn of_blocks(
        blocks: Vec<Block>,
        (offsets, neighbours): (&[usize], &[u32]),
        rows: &[u32],
        columns: &[u32],
    ) -> Self {
        let n = offsets.len() - 1;
        let mut position = vec![0u32; n];
        let mut block_of = vec![0u32; n];
        let mut next = 0;
        for (b, block) in blocks.iter().enumerate() {
            for &v in &block.pivots {
                position[v as usize] = next;
                block_of[v as usize] = b as u32;
                next += 1;
            }
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(blocks.len());
        let mut met = vec![usize::MAX; n];
        for (b, block) in blocks.into_iter().enumerate() {
            let mut border = Vec::new();
            let mut add = |v: u32| {
                if block_of[v as usize] as usize > b && met[v as usize] != b {
                    met[v as usize] = b;
                    border.push(v);
                }
            };
            for &v in &block.pivots {
                let range = offsets[v as usize]..offsets[v as usize + 1];
                neighbours[range].iter().for_each(|&t| add(t));
            }
            let children: Vec<usize> = (block.first..b)
                .filter(|c| nodes[*c].parent == Some(b))
                .collect();
            for &c in &children {
                nodes[c].border.iter().for_each(|&t| add(t));
            }
            border.sort_unstable_by_key(|v| position[*v as usize]);
            let (p, q) = (block.pivots.len() as u64, border.len() as u64);
            let below: u64 = children.iter().map(|c| nodes[*c].work_below).sum();
            nodes.push(Node {
                pivots: block.pivots,
                border,
                parent: block.parent,
                ends: children.iter().map(|c| c + 1).collect(),
                place: Vec::new(),
                entries: Vec::new(),
                work_below: below + p * (p + q) * (p + q),
            });
        }
        let mut index = vec![0u32; n];
        for b in 0..nodes.len() {
            let here = &nodes[b];
            for (i, &v) in here.pivots.iter().chain(&here.border).enumerate() {
                index[v as usize] = i as u32;
            }
            for c in here.ends.clone().into_iter().map(|end| end - 1) {
                let place = nodes[c].border.iter().map(|v| index[*v as usize]).collect();
                nodes[c].place = place;
            }
        }
        let roots = (0..nodes.len()).filter(|k| nodes[*k].parent.is_none());
        let mut symbolic = Symbolic {
            roots: roots.map(|k| k + 1).collect(),
            nodes,
            diagonal: vec![(0, 0); n],
        };
        // nobody can hold more, and places are numbers of 32 bits
        if symbolic.size() <= u32::MAX as usize {
            symbolic.locate(rows, columns, &block_of, &position);
        }
        symbolic
    }

    /// Finds the front of every entry: that of whichever of its row and column goes first.
    fn locate(&mut self, rows: &[u32], columns: &[u32], block_of: &[u32], position: &[u32]) {
        for (b, node) in self.nodes.iter().enumerate() {
            let m = node.size() as u32;
            for (i, &v) in node.pivots.iter().enumerate() {
                self.diagonal[v as usize] = (b as u32, i as u32 * (m + 1));
            }
        }
        for (entry, (&s, &t)) in rows.iter().zip(columns).enumerate() {
            let b = block_of[s as usize].min(block_of[t as usize]) as usize;
            let node = &self.nodes[b];
            let find = |v: u32| {
                if block_of[v as usize] as usize == b {
                    let first = position[node.pivots[0] as usize];
                    return position[v as usize] - first;
                }
                let key = |w: &u32| position[*w as usize];
                let found = node.border.binary_search_by_key(&position[v as usize], key);
                (node.pivots.len() + found.unwrap_or_else(|at| at)) as u32
            };
            let place = find(s) + find(t) * node.size() as u32;
            self.nodes[b].entries.push((entry as u32, place));
        }
    }

    /// The nodes, and where their trees end.
    pub(super) fn forest(&self) -> (&[Node], &[usize]) {
        (&self.nodes, &self.roots)
    }

    /// Numbers in all fronts: each is held some four times.
    pub fn size(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| node.size() * node.size())
            .sum()
    }

    /// Multiplications of one elimination, about.
    pub fn work(&self) -> u64 {
        let roots = self.nodes.iter().filter(|node| node.parent.is_none());
        roots.map(|node| node.work_below).sum()
    }
}

/// The neighbours of every vertex in either direction, sorted, without itself.
fn symmetric(n: usize, rows: &[u32], columns: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (&s, &t) in rows.iter().zip(columns) {
        if s != t {
            lists[s as usize].push(t);
            lists[t as usize].push(s);
        }
    }
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0);
    let mut neighbours = Vec::new();
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
        neighbours.extend_from_slice(list);
        offsets.push(neighbours.len());
    }
    (offsets, neighbours)
}
