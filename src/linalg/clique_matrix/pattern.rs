//! Where the entries of a sum of cliques lie.

use faer::sparse::SymbolicSparseColMat;

/// Cliques by member: those of member `t` are `starts[t]..starts[t + 1]`, with its place in each.
fn by_member(n: usize, members: &[u32], offsets: &[usize]) -> (Vec<usize>, Vec<(u32, u32)>) {
    let mut starts = vec![0usize; n + 1];
    for t in members {
        starts[*t as usize + 1] += 1;
    }
    for t in 0..n {
        starts[t + 1] += starts[t];
    }
    let mut containing = vec![(0u32, 0u32); members.len()];
    let mut next = starts.clone();
    for (s, w) in offsets.windows(2).enumerate() {
        for (place, t) in members[w[0]..w[1]].iter().enumerate() {
            containing[next[*t as usize]] = (s as u32, place as u32);
            next[*t as usize] += 1;
        }
    }
    (starts, containing)
}

/// The most unknowns at one distance from a first one, unknowns being next to each other where they share a clique. Grids
/// and chains are narrow; where everything is a few steps from everything else, no order of elimination helps, and
/// looking for one takes long. Those in very many cliques are passed over: eliminated last they do no harm.
pub(super) fn widest_level(n: usize, members: &[u32], offsets: &[usize]) -> usize {
    let (starts, containing) = by_member(n, members, offsets);
    let many = 10.0 * (n as f64).sqrt();
    let mut seen: Vec<bool> = starts
        .windows(2)
        .map(|w| (w[1] - w[0]) as f64 > many)
        .collect();
    let mut expanded = vec![false; offsets.len()];
    let (mut level, mut next, mut widest) = (Vec::new(), Vec::new(), 0);
    for first in 0..n {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        level.push(first as u32);
        while !level.is_empty() {
            widest = widest.max(level.len());
            for t in level.drain(..) {
                for &(s, _) in &containing[starts[t as usize]..starts[t as usize + 1]] {
                    if std::mem::replace(&mut expanded[s as usize], true) {
                        continue;
                    }
                    for &i in &members[offsets[s as usize]..offsets[s as usize + 1]] {
                        if !std::mem::replace(&mut seen[i as usize], true) {
                            next.push(i);
                        }
                    }
                }
            }
            std::mem::swap(&mut level, &mut next);
        }
    }
    widest
}

/// Union of the cliques' squares and of the diagonal, lower triangle; where each clique's cells
/// and the diagonal lie in it.
pub(super) fn pattern(
    n: usize,
    members: &[u32],
    offsets: &[usize],
    place_offsets: &[usize],
) -> (SymbolicSparseColMat<u32>, Vec<u32>, Vec<u32>) {
    let (starts, containing) = by_member(n, members, offsets);
    let mut places = vec![0u32; place_offsets[place_offsets.len() - 1]];
    let mut diagonal = vec![0u32; n];
    let mut columns: Vec<u32> = vec![0];
    let mut rows: Vec<u32> = Vec::new();
    let mut seen = vec![u32::MAX; n];
    let mut position = vec![0u32; n];
    for j in 0..n {
        let first = rows.len();
        rows.push(j as u32);
        seen[j] = j as u32;
        for &(s, place) in &containing[starts[j]..starts[j + 1]] {
            let clique = &members[offsets[s as usize]..offsets[s as usize + 1]];
            for &i in &clique[place as usize..] {
                if seen[i as usize] != j as u32 {
                    seen[i as usize] = j as u32;
                    rows.push(i);
                }
            }
        }
        rows[first..].sort_unstable();
        for (k, &i) in rows[first..].iter().enumerate() {
            position[i as usize] = (first + k) as u32;
        }
        diagonal[j] = position[j];
        for &(s, place) in &containing[starts[j]..starts[j + 1]] {
            let s = s as usize;
            let clique = &members[offsets[s]..offsets[s + 1]];
            let (place, width) = (place as usize, clique.len());
            let row = &mut places[place_offsets[s] + place * width..][place..width];
            for (x, t) in row.iter_mut().zip(&clique[place..]) {
                *x = position[*t as usize];
            }
        }
        columns.push(rows.len() as u32);
    }
    let symbolic = SymbolicSparseColMat::new_checked(n, n, columns, None, rows);
    (symbolic, places, diagonal)
}
