//! Nested dissection: an order of elimination for sparse matrices with a symmetric pattern.
//!
//! A set of vertices whose removal leaves two parts is eliminated after both (George and Liu,
//! *Computer Solution of Large Sparse Positive Definite Systems*, 1981, chapter 8). Separators are
//! levels of a breadth-first search from a vertex at the rim, the one with the fewest vertices for
//! the size of the smaller part. A part without a small separator is eliminated whole, as a dense
//! block.

/// Parts of at most this many vertices are not cut: a dense block of them is quickly inverted.
const LEAF: usize = 12;
/// A separator of more than this share of a part saves nothing.
const LARGEST_SHARE: f64 = 0.34;
/// Vertices with more neighbours than this, and than this times the root of their number, are
/// eliminated last: no breadth-first search has levels across them.
const HUB: usize = 32;
const HUB_ROOTS: f64 = 4.0;

/// Vertices that are eliminated together, and where they stand in the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The vertices, in the order of elimination.
    pub pivots: Vec<u32>,
    /// The block that is eliminated after all of this one's border has met it.
    pub parent: Option<usize>,
    /// The first block of the subtree that ends with this one.
    pub first: usize,
}

/// Blocks in postorder of the tree: those of a subtree are consecutive, its root is the last.
/// `neighbours[offsets[v]..offsets[v + 1]]` are the neighbours of vertex `v`, without itself; the
/// graph is undirected.
pub fn dissect(offsets: &[usize], neighbours: &[u32]) -> Vec<Block> {
    let n = offsets.len() - 1;
    let mut search = Search {
        offsets,
        neighbours,
        part: vec![0; n],
        level: vec![u32::MAX; n],
        parts: 0,
        blocks: Vec::new(),
    };
    let many = HUB.max((HUB_ROOTS * (n as f64).sqrt()) as usize);
    let is_hub = |v: u32| offsets[v as usize + 1] - offsets[v as usize] > many;
    let (hubs, rest): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(|v| is_hub(*v));
    // where many vertices are hubs the graph has no separators at all
    if hubs.len() * 4 > n {
        search.leaf((0..n as u32).collect(), 0);
        return search.blocks;
    }
    let first = search.blocks.len();
    let roots = search.components(rest);
    if hubs.is_empty() {
        return search.blocks;
    }
    let root = search.leaf(hubs, first);
    for child in roots {
        search.blocks[child].parent = Some(root);
    }
    search.blocks
}

struct Search<'a> {
    offsets: &'a [usize],
    neighbours: &'a [u32],
    /// The part that a vertex belongs to at present.
    part: Vec<u32>,
    level: Vec<u32>,
    parts: u32,
    blocks: Vec<Block>,
}

impl Search<'_> {
    fn around(&self, v: u32) -> &[u32] {
        &self.neighbours[self.offsets[v as usize]..self.offsets[v as usize + 1]]
    }

    fn leaf(&mut self, pivots: Vec<u32>, first: usize) -> usize {
        let parent = None;
        self.blocks.push(Block {
            pivots,
            parent,
            first,
        });
        self.blocks.len() - 1
    }

    /// Breadth-first from `start` within its part; the vertices met, in order.
    fn breadth_first(&mut self, start: u32, of: &[u32]) -> Vec<u32> {
        for &v in of {
            self.level[v as usize] = u32::MAX;
        }
        let part = self.part[start as usize];
        self.level[start as usize] = 0;
        let mut met = vec![start];
        let mut next = 0;
        while next < met.len() {
            let v = met[next];
            next += 1;
            for k in self.offsets[v as usize]..self.offsets[v as usize + 1] {
                let t = self.neighbours[k] as usize;
                if self.part[t] == part && self.level[t] == u32::MAX {
                    self.level[t] = self.level[v as usize] + 1;
                    met.push(t as u32);
                }
            }
        }
        met
    }

    /// Blocks for every connected component; the roots of their trees. Components of a few vertices
    /// share a block.
    fn components(&mut self, vertices: Vec<u32>) -> Vec<usize> {
        self.parts += 1;
        let part = self.parts;
        for &v in &vertices {
            self.part[v as usize] = part;
            self.level[v as usize] = u32::MAX;
        }
        let mut roots = Vec::new();
        let mut few: Vec<u32> = Vec::new();
        for &v in &vertices {
            if self.part[v as usize] != part {
                continue;
            }
            let met = self.breadth_first(v, &[]);
            self.parts += 1;
            for &t in &met {
                self.part[t as usize] = self.parts;
            }
            if few.len() + met.len() <= LEAF {
                few.extend(met);
            } else if met.len() <= LEAF {
                let first = self.blocks.len();
                let full = std::mem::replace(&mut few, met);
                roots.push(self.leaf(full, first));
            } else {
                roots.push(self.connected(met));
            }
        }
        if !few.is_empty() {
            let first = self.blocks.len();
            roots.push(self.leaf(few, first));
        }
        roots
    }

    /// Blocks for a connected part; the root of their tree.
    fn connected(&mut self, part: Vec<u32>) -> usize {
        let first = self.blocks.len();
        if part.len() <= LEAF {
            return self.leaf(part, first);
        }
        // a vertex at the rim: the last one met from the last one met
        let mut met = self.breadth_first(part[0], &part);
        for _ in 0..2 {
            let far = *met.last().unwrap_or(&part[0]);
            met = self.breadth_first(far, &part);
        }
        let Some(cut) = self.smallest_level(&met) else {
            return self.leaf(part, first);
        };
        let later = |search: &Self, v: u32| {
            search.around(v).iter().any(|&t| {
                search.part[t as usize] == search.part[v as usize]
                    && search.level[t as usize] == cut + 1
            })
        };
        let (mut near, mut separator, mut far) = (Vec::new(), Vec::new(), Vec::new());
        for &v in &met {
            match self.level[v as usize].cmp(&cut) {
                std::cmp::Ordering::Less => near.push(v),
                std::cmp::Ordering::Greater => far.push(v),
                std::cmp::Ordering::Equal if later(self, v) => separator.push(v),
                std::cmp::Ordering::Equal => near.push(v),
            }
        }
        let mut children = self.components(near);
        children.extend(self.components(far));
        let root = self.leaf(separator, first);
        for child in children {
            self.blocks[child].parent = Some(root);
        }
        root
    }

    /// The level with the fewest vertices for the size of the smaller side, if that is few.
    fn smallest_level(&self, met: &[u32]) -> Option<u32> {
        let last = self.level[*met.last()? as usize];
        let mut sizes = vec![0usize; last as usize + 1];
        for &v in met {
            sizes[self.level[v as usize] as usize] += 1;
        }
        let mut best: Option<(f64, u32)> = None;
        let mut before = 0;
        for (level, &size) in sizes.iter().enumerate() {
            let after = met.len() - before - size;
            let smaller = before.min(after);
            let score = size as f64 / smaller as f64;
            let share = size as f64 / met.len() as f64;
            if smaller > 0 && share <= LARGEST_SHARE && best.is_none_or(|(least, _)| score < least)
            {
                best = Some((score, level as u32));
            }
            before += size;
        }
        best.map(|(_, level)| level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: usize, columns: usize) -> (Vec<usize>, Vec<u32>) {
        let (mut offsets, mut neighbours) = (vec![0], Vec::new());
        for r in 0..rows {
            for c in 0..columns {
                let mut to = |r: usize, c: usize| neighbours.push((r * columns + c) as u32);
                if r > 0 {
                    to(r - 1, c);
                }
                if c > 0 {
                    to(r, c - 1);
                }
                if c + 1 < columns {
                    to(r, c + 1);
                }
                if r + 1 < rows {
                    to(r + 1, c);
                }
                offsets.push(neighbours.len());
            }
        }
        (offsets, neighbours)
    }

    /// Every vertex is eliminated once, and no edge joins two parts but through their ancestors.
    fn check(offsets: &[usize], neighbours: &[u32]) -> Vec<Block> {
        let blocks = dissect(offsets, neighbours);
        let n = offsets.len() - 1;
        let mut of = vec![usize::MAX; n];
        for (b, block) in blocks.iter().enumerate() {
            for &v in &block.pivots {
                assert_eq!(of[v as usize], usize::MAX);
                of[v as usize] = b;
            }
            assert!(block.parent.is_none_or(|p| p > b));
            assert!(block.first <= b);
        }
        let above = |mut b: usize, target: usize| {
            while b < target {
                match blocks[b].parent {
                    Some(p) => b = p,
                    None => return false,
                }
            }
            b == target
        };
        for v in 0..n {
            for &t in &neighbours[offsets[v]..offsets[v + 1]] {
                let (low, high) = (of[v].min(of[t as usize]), of[v].max(of[t as usize]));
                assert!(above(low, high), "{v} {t}");
            }
        }
        blocks
    }

    #[test]
    fn grids_have_small_separators() {
        let (offsets, neighbours) = grid(30, 40);
        let blocks = check(&offsets, &neighbours);
        let largest = blocks.iter().map(|b| b.pivots.len()).max().unwrap();
        assert!(largest <= 31, "{largest}");
    }

    /// A path of which every vertex has leaves beside it: what leads on separates alone.
    #[test]
    fn leaves_beside_a_path_are_in_no_separator() {
        let (length, leaves) = (60u32, 3u32);
        let n = length * (1 + leaves);
        let mut lists = vec![Vec::new(); n as usize];
        let mut join = |a: u32, b: u32| {
            lists[a as usize].push(b);
            lists[b as usize].push(a);
        };
        for k in 0..length {
            if k + 1 < length {
                join(k, k + 1);
            }
            (0..leaves).for_each(|l| join(k, length + k * leaves + l));
        }
        let mut offsets = vec![0];
        for list in &mut lists {
            list.sort_unstable();
            offsets.push(offsets[offsets.len() - 1] + list.len());
        }
        let blocks = check(&offsets, &lists.concat());
        let parents: Vec<usize> = blocks.iter().filter_map(|b| b.parent).collect();
        assert!(parents.len() > 10);
        for parent in parents {
            assert_eq!(blocks[parent].pivots.len(), 1);
        }
        // the first cut is not at an end of the path
        let root = blocks.len() - 1;
        let half = |b: &Block| blocks.iter().filter(|x| x.first >= b.first).count();
        let children = || blocks.iter().filter(|b| b.parent == Some(root));
        assert!(children().count() >= 2 && children().all(|b| half(b) >= 1));
        let largest = children().map(|b| {
            let index = blocks.iter().position(|x| std::ptr::eq(x, b)).unwrap_or(0);
            let subtree = &blocks[b.first..=index];
            subtree.iter().map(|x| x.pivots.len()).sum::<usize>()
        });
        assert!(largest.max().unwrap() < 3 * n as usize / 4);
    }

    /// Of five levels of 4, 6, 1, 6 and 4 vertices the one in the middle.
    #[test]
    fn the_smallest_level_cuts_in_the_middle() {
        let sizes = [4, 6, 1, 6, 4];
        let level: Vec<u32> = (0u32..).zip(sizes).flat_map(|(l, n)| vec![l; n]).collect();
        let met: Vec<u32> = (0..level.len() as u32).collect();
        let mut search = Search {
            offsets: &[],
            neighbours: &[],
            part: vec![0; level.len()],
            level,
            parts: 0,
            blocks: Vec::new(),
        };
        assert_eq!(search.smallest_level(&met), Some(2));
        // a large level is none, however it lies
        search.level = [vec![0; 5], vec![1; 11], vec![2; 5]].concat();
        assert_eq!(search.smallest_level(&met), None);
        // of two small ones the one with more on its smaller side
        search.level = [vec![0; 2], vec![1; 1], vec![2; 7], vec![3; 1], vec![4; 10]].concat();
        assert_eq!(search.smallest_level(&met), Some(3));
    }

    #[test]
    fn hubs_components_and_dense_graphs() {
        // a hub joined to every vertex of a long path, and a path apart
        let n = 400usize;
        let mut lists = vec![Vec::new(); n + 1 + 5];
        for v in 0..n {
            lists[v].push(n as u32);
            lists[n].push(v as u32);
            if v + 1 < n {
                lists[v].push(v as u32 + 1);
                lists[v + 1].push(v as u32);
            }
        }
        for v in n + 1..n + 5 {
            lists[v].push(v as u32 + 1);
            lists[v + 1].push(v as u32);
        }
        let mut offsets = vec![0];
        offsets.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        }));
        let blocks = check(&offsets, &lists.concat());
        assert_eq!(blocks.last().unwrap().pivots, [n as u32]);
        assert!(blocks.iter().all(|b| b.pivots.len() <= LEAF));
        // everybody knows everybody
        let all: Vec<u32> = (0..50)
            .flat_map(|v| (0..50).filter(move |t| *t != v))
            .collect();
        let offsets: Vec<usize> = (0..=50).map(|v| 49 * v).collect();
        assert_eq!(check(&offsets, &all).len(), 1);
    }
}
