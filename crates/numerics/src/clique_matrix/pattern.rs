//! Where the entries of a sum of cliques lie.

use faer::sparse::SymbolicSparseColMat;

use crate::groups::{Groups, owners};

/// The most unknowns at one distance from a first one that hang together by others as far or
/// farther, unknowns being next to each other where they share a clique. Grids and chains are
/// narrow, and so are trees, whose branches hang together by what is nearer only; where everything
/// is a few steps from everything else, no order of elimination helps, and looking for one takes
/// long. Those in very many cliques are passed over: eliminated last they do no harm.
pub(super) fn widest_front(n: usize, members: &[u32], offsets: &[usize]) -> usize {
    let (containing, clique) = (Groups::new(n, members), owners(offsets));
    let cliques_of = |t: u32| {
        let places = containing.of(t as usize).iter();
        places.map(|&k| clique[k as usize] as usize)
    };
    let many = 10.0 * (n as f64).sqrt();
    let in_many = |t: usize| containing.of(t).len() as f64 > many;
    let mut seen: Vec<bool> = (0..n).map(in_many).collect();
    let mut expanded = vec![false; offsets.len()];
    // unknowns by their distance, and where each distance begins
    let (mut order, mut levels): (Vec<u32>, _) = (Vec::with_capacity(n), Vec::new());
    for first in 0..n {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let mut start = order.len();
        order.push(first as u32);
        while start < order.len() {
            levels.push(start);
            let end = order.len();
            for place in start..end {
                for s in cliques_of(order[place]) {
                    if std::mem::replace(&mut expanded[s], true) {
                        continue;
                    }
                    for &i in &members[offsets[s]..offsets[s + 1]] {
                        if !std::mem::replace(&mut seen[i as usize], true) {
                            order.push(i);
                        }
                    }
                }
            }
            start = end;
        }
    }
    // from the farthest on, joined where they share a clique
    let mut joined: Vec<u32> = (0..n as u32).collect();
    let mut reached = vec![u32::MAX; offsets.len()];
    let (mut together, mut widest, mut end) = (vec![0usize; n], 0, order.len());
    for &start in levels.iter().rev() {
        let level = &order[start..end];
        for &t in level {
            for s in cliques_of(t) {
                let other = std::mem::replace(&mut reached[s], t);
                if other != u32::MAX {
                    let (a, b) = (root(&mut joined, t), root(&mut joined, other));
                    joined[a] = b as u32;
                }
            }
        }
        for &t in level {
            let count = &mut together[root(&mut joined, t)];
            *count += 1;
            widest = widest.max(*count);
        }
        for &t in level {
            together[root(&mut joined, t)] = 0;
        }
        end = start;
    }
    widest
}

/// What stands for all that an unknown was joined with; the way there is halved.
fn root(joined: &mut [u32], t: u32) -> usize {
    let mut t = t as usize;
    while joined[t] as usize != t {
        joined[t] = joined[joined[t] as usize];
        t = joined[t] as usize;
    }
    t
}

/// Union of the cliques' squares and of the diagonal, lower triangle, and where each clique's cells
/// lie in it.
pub(super) fn pattern(
    n: usize,
    members: &[u32],
    offsets: &[usize],
    place_offsets: &[usize],
) -> (SymbolicSparseColMat<u32>, Vec<u32>) {
    let (containing, clique) = (Groups::new(n, members), owners(offsets));
    let mut places = vec![0u32; place_offsets[place_offsets.len() - 1]];
    let mut columns: Vec<u32> = vec![0];
    let mut rows: Vec<u32> = Vec::new();
    let mut seen = vec![u32::MAX; n];
    let mut position = vec![0u32; n];
    for j in 0..n {
        // of a clique the members from j on, and its number
        let cliques = || {
            containing.of(j).iter().map(|&k| {
                let s = clique[k as usize] as usize;
                (s, &members[k as usize..offsets[s + 1]])
            })
        };
        let first = rows.len();
        rows.push(j as u32);
        seen[j] = j as u32;
        for &i in cliques().flat_map(|(_, below)| below) {
            if seen[i as usize] != j as u32 {
                seen[i as usize] = j as u32;
                rows.push(i);
            }
        }
        rows[first..].sort_unstable();
        for (k, &i) in rows[first..].iter().enumerate() {
            position[i as usize] = (first + k) as u32;
        }
        for (s, below) in cliques() {
            let width = offsets[s + 1] - offsets[s];
            let place = width - below.len();
            let row = &mut places[place_offsets[s] + place * width..][place..width];
            for (x, t) in row.iter_mut().zip(below) {
                *x = position[*t as usize];
            }
        }
        columns.push(rows.len() as u32);
    }
    let symbolic = SymbolicSparseColMat::new_checked(n, n, columns, None, rows);
    (symbolic, places)
}
