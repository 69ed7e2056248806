//! The triangular factor of one state's block $K_s$, without forming it.
//!
//! $K = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N \mathrm{diag}(w) N$ is a sum of weighted squares of rows. Near an optimum the weights differ by
//! more than floating point has digits: in the sum of the squares the small ones would be lost, and with them all that can still
//! move. So the rows are brought to triangular form by reflections, the heavy ones first, and never squared.

/// Fills `block` with the lower triangle $L$, row by row, of $L L^\top = K$, with one over its diagonal entries in their place; false where
/// there is none. `rows` is room.
pub(super) fn triangle(
    block: &mut [f64],
    rows: &mut Vec<Vec<f64>>,
    h: &[f64],
    g: f64,
    w: &[f64],
    xi: f64,
) -> bool {
    let n = h.len();
    let mut count = 0;
    let mut push = |weight: f64, row: &dyn Fn(usize) -> f64| {
        if weight > 0.0 {
            if rows.len() == count {
                rows.push(Vec::new());
            }
            let root = weight.sqrt();
            rows[count].clear();
            rows[count].extend((0..n).map(|b| root * row(b)));
            count += 1;
        }
    };
    let unit = |a: usize, b: usize| f64::from(u8::from(a == b));
    for a in 0..n {
        if xi > 0.0 {
            push(h[a], &|b| unit(a, b));
            push(w[a], &|b| unit(a, b) - xi);
        } else {
            push(h[a] + w[a], &|b| unit(a, b));
        }
    }
    push(g, &|_| 1.0);
    let rows = &mut rows[..count];
    let size = |row: &[f64]| row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    for a in 0..n {
        if a >= rows.len() {
            return false;
        }
        // the heaviest of what is left in this column comes first
        let heaviest =
            (a..rows.len()).max_by(|i, j| rows[*i][a].abs().total_cmp(&rows[*j][a].abs()));
        rows.swap(a, heaviest.unwrap_or(a));
        let (done, rest) = rows.split_at_mut(a + 1);
        let pivot = &mut done[a];
        let norm = rest
            .iter()
            .fold(pivot[a] * pivot[a], |sum, row| sum + row[a] * row[a])
            .sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            return false;
        }
        // reflection along (pivot + sign norm, rest)
        let first = pivot[a] + norm.copysign(pivot[a]);
        let scale = 1.0 / (norm * first.abs());
        for b in a + 1..n {
            let along = rest
                .iter()
                .fold(first * pivot[b], |sum, row| sum + row[a] * row[b]);
            let along = scale * along;
            pivot[b] -= along * first;
            for row in rest.iter_mut() {
                row[b] -= along * row[a];
            }
        }
        block[a * n + a] = -1.0 / norm.copysign(first);
        for b in a + 1..n {
            block[b * n + a] = pivot[b];
        }
    }
    true
}
