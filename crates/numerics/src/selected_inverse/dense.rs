//! Dense matrices by columns: products, inverses, moving blocks between fronts.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::super::parallel::share;

/// Products with fewer multiplications than this are done by plain loops: calling a kernel would
/// take as long.
const SMALL: usize = 512;
/// Products with more multiplications than this are shared among threads, by so many columns.
const LARGE: usize = 1 << 23;
const COLUMNS: usize = 96;
/// Matrices of at most this many rows are inverted pivot by pivot.
const FEW: usize = 24;

/// `out = sign * left * right`, or that added to `out`; each matrix comes with the length of its
/// columns' stride, `(rows, inner, columns)` are the sizes.
pub(super) fn product(
    out: (&mut [f64], usize),
    left: (&[f64], usize),
    right: (&[f64], usize),
    (rows, inner, columns): (usize, usize, usize),
    sign: f64,
    add: bool,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    if rows * inner * columns <= SMALL || inner == 0 {
        for j in 0..columns {
            let column = &mut out.0[j * out.1..j * out.1 + rows];
            if !add {
                column.fill(0.0);
            }
            for k in 0..inner {
                let weight = sign * right.0[j * right.1 + k];
                if weight != 0.0 {
                    let from = &left.0[k * left.1..k * left.1 + rows];
                    for (x, y) in column.iter_mut().zip(from) {
                        *x += weight * y;
                    }
                }
            }
        }
        return;
    }
    let mut out = MatMut::from_column_major_slice_with_stride_mut(out.0, rows, columns, out.1);
    let left = MatRef::from_column_major_slice_with_stride(left.0, rows, inner, left.1);
    let right = MatRef::from_column_major_slice_with_stride(right.0, inner, columns, right.1);
    let add = if add { Accum::Add } else { Accum::Replace };
    if rows * inner * columns <= LARGE {
        return matmul(out, add, left, right, sign, Par::Seq);
    }
    // parts of a fixed size, so that the bits do not depend on the number of threads
    let mut parts = Vec::with_capacity(columns.div_ceil(COLUMNS));
    let mut first = 0;
    while first < columns {
        let width = COLUMNS.min(columns - first);
        let (part, rest) = out.split_at_col_mut(width);
        parts.push((part, right.subcols(first, width)));
        (out, first) = (rest, first + width);
    }
    share(parts.into_iter(), |(part, right)| {
        matmul(part, add, left, right, sign, Par::Seq);
    });
}

/// Inverts an `n` by `n` matrix in place, without pivoting, by halves; `room` takes as many numbers
/// again. Returns false at a pivot that is not positive.
pub(super) fn invert(a: &mut [f64], n: usize, room: &mut [f64]) -> bool {
    invert_block(a, n, n, room)
}

fn invert_block(a: &mut [f64], n: usize, stride: usize, room: &mut [f64]) -> bool {
    if n <= FEW {
        return invert_by_pivots(a, n, stride);
    }
    let h = n / 2;
    let r = n - h;
    if !invert_block(a, h, stride, room) {
        return false;
    }
    // X = C A^-1 and Y = A^-1 B, then the Schur complement E - C Y
    let (x, rest) = room.split_at_mut(r * h);
    let (y, rest) = rest.split_at_mut(h * r);
    let (left, right) = a.split_at_mut(h * stride);
    product(
        (x, r),
        (&left[h..], stride),
        (left, stride),
        (r, h, h),
        1.0,
        false,
    );
    product(
        (y, h),
        (left, stride),
        (right, stride),
        (h, h, r),
        1.0,
        false,
    );
    product(
        (&mut right[h..], stride),
        (&left[h..], stride),
        (y, h),
        (r, h, r),
        -1.0,
        true,
    );
    if !invert_block(&mut right[h..], r, stride, rest) {
        return false;
    }
    let inverse = copied(right, h, r, stride, rest);
    product(
        (right, stride),
        (y, h),
        (inverse, r),
        (h, r, r),
        -1.0,
        false,
    );
    product(
        (&mut left[h..], stride),
        (&right[h..], stride),
        (x, r),
        (r, r, h),
        -1.0,
        false,
    );
    // A^-1 + Y S^-1 X, Y S^-1 being what stands above S^-1 with the other sign
    product(
        (left, stride),
        (right, stride),
        (x, r),
        (h, r, h),
        -1.0,
        true,
    );
    true
}

/// The lower right block in packed columns, for products into the columns that it stands in.
fn copied<'a>(right: &[f64], h: usize, r: usize, stride: usize, room: &'a mut [f64]) -> &'a [f64] {
    for j in 0..r {
        room[j * r..(j + 1) * r].copy_from_slice(&right[j * stride + h..j * stride + h + r]);
    }
    &room[..r * r]
}

/// Gauss and Jordan's elimination in place.
fn invert_by_pivots(a: &mut [f64], n: usize, stride: usize) -> bool {
    let mut column = [0.0; FEW];
    for k in 0..n {
        let pivot = a[k * stride + k];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot;
        column[..n].copy_from_slice(&a[k * stride..k * stride + n]);
        for j in 0..n {
            let to = &mut a[j * stride..j * stride + n];
            if j == k {
                for (x, c) in to.iter_mut().zip(&column) {
                    *x = -c * inverse;
                }
                to[k] = inverse;
                continue;
            }
            let weight = to[k] * inverse;
            if weight != 0.0 {
                for (x, c) in to.iter_mut().zip(&column) {
                    *x -= weight * c;
                }
            }
            to[k] = weight;
        }
    }
    true
}

/// Adds the border's block of one front to the places it has in another.
pub(super) fn scatter_add(
    (to, to_size): (&mut [f64], usize),
    (from, size, pivots): (&[f64], usize, usize),
    place: &[u32],
) {
    for (j, &column) in place.iter().enumerate() {
        let source = &from[(pivots + j) * size + pivots..(pivots + j + 1) * size];
        let target = &mut to[column as usize * to_size..(column as usize + 1) * to_size];
        for (&row, x) in place.iter().zip(source) {
            target[row as usize] += x;
        }
    }
}

/// Fills the border's block of one front from the places it has in another.
pub(super) fn gather(
    (to, size, pivots): (&mut [f64], usize, usize),
    (from, from_size): (&[f64], usize),
    place: &[u32],
) {
    for (j, &column) in place.iter().enumerate() {
        let target = &mut to[(pivots + j) * size + pivots..(pivots + j + 1) * size];
        let source = &from[column as usize * from_size..(column as usize + 1) * from_size];
        for (&row, x) in place.iter().zip(target) {
            *x = source[row as usize];
        }
    }
}
