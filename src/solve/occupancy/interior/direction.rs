//! One Newton direction of the [interior-point method](super): everything but the potentials and the border is eliminated.
//!
//! With $K$, $A$ as in [`normal`](super::normal) and a border of one column each for $\lambda$, the prices and $t$,
//!
//! $$ \begin{pmatrix} K & A^\top & B \\\\ A & & F \\\\ B^\top & F^\top & D \end{pmatrix}
//!    \begin{pmatrix} du \\\\ dV \\\\ d\eta \end{pmatrix} = \begin{pmatrix} G \\\\ r_p \\\\ q \end{pmatrix} . $$
//!
//! For coverage $d\omega = du + b\, dt$, and $u$ is the unknown: at the optimum most $u$ vanish, their weights $r / u$ run away, and written
//! in $\omega$ the column of $t$ would be the difference of two such numbers. In $u$ it is $B = N^\top \mathrm{diag}(w) N b$, $F = A b$. All other
//! utilities have $u = \omega$.
//!
//! With restarts $t$ takes the place of one pair among those that stay positive: they are one too few to determine all potentials, and
//! $A K^{-1} A^\top$ tends to a singular matrix. So $h$ is added to the diagonal of one state $i$, and its potential becomes an unknown of the
//! border, with $F = h e_i$ and $D = -h$, that takes it back.

use super::Interior;
use crate::linalg::gauss::gauss;
use crate::solve::driver::Driver;

/// Relative accuracy of solutions with a factor; before one is needed, and where there is none: then it is the mean of the products,
/// between two values.
const ACCURATE: f64 = 1e-13;
const BEFORE_A_FACTOR: f64 = 1e-4;
const ROUGH: (f64, f64) = (1e-7, 1e-2);
/// Flows that a solution with a factor leaves open are small beside this share of what was asked, times the mean of the products,
/// between two values: in the end what a policy visits follows from its flows, by a chain that may hardly mix.
const FLOW_LEFT: f64 = 1e-9;
const FLOW_BETWEEN: (f64, f64) = (1e-16, 1e-10);

/// A change of everything.
pub(super) struct Step {
    pub(super) omega: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) u: Vec<f64>,
    pub(super) s: Vec<f64>,
    pub(super) t: f64,
    pub(super) v: Vec<f64>,
    pub(super) lambda: f64,
    pub(super) z: Vec<f64>,
    pub(super) r: Vec<f64>,
    pub(super) state_r: Vec<f64>,
    pub(super) y: Vec<f64>,
}

impl Step {
    pub(super) fn is_finite(&self) -> bool {
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        finite(&self.omega) && finite(&self.v) && finite(&self.y) && self.t.is_finite()
    }
}

/// What is added to the products that a direction aims at; nothing where empty.
#[derive(Default)]
pub(super) struct Products {
    pub(super) x: Vec<f64>,
    pub(super) u: Vec<f64>,
    pub(super) s: Vec<f64>,
}

/// A column of the border: its $B$ and $F$ (empty if zero), its potentials, and what is left of it along the flow constraints.
struct Column {
    given: Vec<f64>,
    flow: Vec<f64>,
    v: Vec<f64>,
    along: Vec<f64>,
}

/// The equations at one point, factored.
pub(super) struct Direction {
    columns: Vec<Column>,
    flow: Vec<f64>,
    /// What the stationarity equations of pairs lack, links and products apart.
    residual: Vec<f64>,
    wanted: f64,
}

impl Direction {
    pub(super) fn prepare(at: &mut Interior<'_>, driver: &mut Driver<'_>) -> Option<Self> {
        let pairs = at.omega.len();
        let mut slope = at.linear.pair_slope.clone();
        let mut weight = vec![0.0; pairs];
        for i in 0..pairs {
            weight[i] = at.z[i] / at.x[i];
        }
        if at.floor.is_some() {
            for i in 0..pairs {
                slope[i] += at.r[i] / at.u[i];
            }
        }
        let state_slope = at.linear.state_slope.clone();
        if !at.normal.factor(&slope, &state_slope, &weight) {
            return None;
        }
        let wanted = match (at.normal.factored(), at.normal.factors()) {
            (true, _) => ACCURATE,
            (_, true) => BEFORE_A_FACTOR,
            _ => at.mu().clamp(ROUGH.0, ROUGH.1),
        };
        // border: lambda, prices, t
        let mut given: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        if at.part.restart() == 0.0 {
            given.push((vec![1.0; pairs], Vec::new()));
        }
        for (limit, unit) in at.limits.iter().zip(&at.cost_units) {
            let cost = limit.cost.iter().map(|c| c / unit).collect();
            given.push((cost, Vec::new()));
        }
        if let Some((s, extra)) = at.normal.to_set_free() {
            let mut flow = vec![0.0; at.v.len()];
            flow[s] = extra;
            given.push((vec![0.0; pairs], flow));
        }
        if let Some((floor, _)) = &at.floor {
            let mut weighted = floor.clone();
            for range in at.of_states() {
                let row = &mut weighted[range.clone()];
                spare(row, at.part.xi());
                row.iter_mut()
                    .zip(&weight[range])
                    .for_each(|(x, w)| *x *= w);
                spare(row, at.part.xi());
            }
            let mut flow = vec![0.0; at.v.len()];
            at.normal.rows(floor, &mut flow);
            given.push((weighted, flow));
        }
        let mut columns = Vec::with_capacity(given.len());
        let nothing = vec![0.0; at.v.len()];
        for (given, flow) in given {
            let wanted_flow = if flow.is_empty() { &nothing } else { &flow };
            let (v, along) = through(at, &given, wanted_flow, wanted, driver);
            columns.push(Column {
                given,
                flow,
                v,
                along,
            });
        }
        let mut residual = vec![0.0; pairs];
        at.normal.columns(&at.v, &mut residual);
        at.add_limits(&at.y, &mut residual);
        for (s, range) in at.of_states().enumerate() {
            let sum: f64 = at.z[range.clone()].iter().sum();
            for i in range {
                let z = at.z[i] - at.part.xi() * sum;
                residual[i] = at.state_r[s] + at.r[i] - residual[i] - at.lambda + z;
            }
        }
        Some(Direction {
            columns,
            flow: at.flow_residual(),
            residual,
            wanted,
        })
    }

    /// The direction towards products of `centre`, corrected for the products of the changes of an earlier one and with others
    /// added.
    pub(super) fn solve(
        &mut self,
        at: &mut Interior<'_>,
        centre: f64,
        earlier: Option<&Step>,
        added: &Products,
        driver: &mut Driver<'_>,
    ) -> Step {
        let (pairs, xi) = (at.omega.len(), at.part.xi());
        let product = |i: usize, a: &[f64], b: &[f64], da: Option<&[f64]>, db: Option<&[f64]>| {
            let second = da.map_or(0.0, |d| d[i]) * db.map_or(0.0, |d| d[i]);
            centre - a[i] * b[i] - second
        };
        let more = |added: &[f64], i: usize| added.get(i).copied().unwrap_or(0.0);
        let for_x = |i: usize| {
            if !at.bounded[i] {
                return 0.0;
            }
            let (dx, dz) = (earlier.map(|e| &e.x[..]), earlier.map(|e| &e.z[..]));
            (product(i, &at.x, &at.z, dx, dz) + more(&added.x, i)) / at.x[i]
        };
        let for_s = |j: usize| {
            let (ds, dy) = (earlier.map(|e| &e.s[..]), earlier.map(|e| &e.y[..]));
            product(j, &at.s, &at.y, ds, dy) + more(&added.s, j)
        };
        let from_s: Vec<f64> = (0..at.s.len()).map(for_s).collect();
        let for_u = |i: usize| {
            let (du, dr) = (earlier.map(|e| &e.u[..]), earlier.map(|e| &e.r[..]));
            (product(i, &at.u, &at.r, du, dr) + more(&added.u, i)) / at.u[i]
        };
        // G: what the stationarity of each pair lacks, with links and products eliminated
        let from_x: Vec<f64> = (0..pairs).map(for_x).collect();
        let from_u: Vec<f64> = match &at.floor {
            Some(_) => (0..pairs).map(for_u).collect(),
            None => Vec::new(),
        };
        let mut right = self.residual.clone();
        for (s, range) in at.of_states().enumerate() {
            let sum: f64 = from_x[range.clone()].iter().sum();
            let state = at.linear.state[s] - at.state_r[s];
            for i in range {
                right[i] += from_x[i] - xi * sum;
                right[i] += match at.floor {
                    Some(_) => from_u[i],
                    None => state + at.linear.pair[i] - at.r[i],
                };
            }
        }
        let wanted = self.wanted;
        let (mut v, mut u) = through(at, &right, &self.flow, wanted, driver);
        // the border's own equations
        let k = self.columns.len();
        let (mut matrix, mut q) = (vec![0.0; k * k], vec![0.0; k]);
        for (i, row) in self.columns.iter().enumerate() {
            for (j, column) in self.columns.iter().enumerate() {
                matrix[i * k + j] = -dot(&row.given, &column.along) - dot(&row.flow, &column.v);
            }
            q[i] = -dot(&row.given, &u) - dot(&row.flow, &v);
        }
        let with_lambda = usize::from(at.part.restart() == 0.0);
        if with_lambda == 1 {
            q[0] += at.units - at.omega.iter().sum::<f64>();
        }
        for j in 0..at.s.len() {
            let i = with_lambda + j;
            matrix[i * k + i] -= at.s[j] / at.y[j];
            q[i] += at.slack(j) - at.s[j] - from_s[j] / at.y[j];
        }
        if let Some((floor, _)) = &at.floor {
            let t = k - 1;
            if let Some((_, extra)) = at.normal.to_set_free() {
                matrix[(t - 1) * k + t - 1] -= extra;
            }
            for i in 0..t {
                let meets = dot(&self.columns[i].given, floor);
                matrix[i * k + t] += meets;
                matrix[t * k + i] += meets;
            }
            matrix[t * k + t] += dot(&self.columns[t].given, floor);
            let mut lacks = at.units;
            for (p, b) in floor.iter().enumerate() {
                lacks += b * (right[p] - at.r[p] - from_u[p]);
            }
            q[t] += lacks;
        }
        let border = gauss(matrix, q);
        for (column, change) in self.columns.iter().zip(&border) {
            for (x, c) in u.iter_mut().zip(&column.along) {
                *x -= change * c;
            }
            for (x, c) in v.iter_mut().zip(&column.v) {
                *x -= change * c;
            }
        }
        let (lambda, rest) = border.split_at(with_lambda);
        let prices = rest[..at.s.len()].to_vec();
        let t = if at.floor.is_some() {
            border[k - 1]
        } else {
            0.0
        };
        // back to what was eliminated
        let mut omega = u.clone();
        if let Some((floor, _)) = &at.floor {
            omega.iter_mut().zip(floor).for_each(|(x, b)| *x += t * b);
        }
        let mut step = Step {
            x: omega.clone(),
            z: vec![0.0; pairs],
            u: Vec::new(),
            r: vec![0.0; pairs],
            state_r: vec![0.0; at.v.len()],
            s: vec![0.0; at.s.len()],
            lambda: lambda.first().copied().unwrap_or(0.0),
            y: prices,
            omega,
            v,
            t,
        };
        for (s, range) in at.of_states().enumerate() {
            let d: f64 = step.omega[range.clone()].iter().sum();
            step.state_r[s] = at.linear.state[s] - at.state_r[s] - at.linear.state_slope[s] * d;
            for i in range {
                step.x[i] -= xi * d;
                step.z[i] = from_x[i] - at.z[i] / at.x[i] * step.x[i];
                step.r[i] = at.linear.pair[i] - at.r[i] - at.linear.pair_slope[i] * step.omega[i];
            }
        }
        if at.floor.is_some() {
            step.state_r.fill(0.0);
            for i in 0..pairs {
                step.r[i] = from_u[i] - at.r[i] / at.u[i] * u[i];
            }
            step.u = u;
        }
        for j in 0..at.s.len() {
            let cost = &at.limits[j].cost;
            let spent = dot(cost, &step.omega) / at.cost_units[j];
            step.s[j] = at.slack(j) - at.s[j] - spent;
        }
        step
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $N = N^\top$ of one state: takes off $\xi$ times the sum.
fn spare(row: &mut [f64], xi: f64) {
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x -= xi * sum);
}

/// Potentials and the change of $u$ for one right-hand side without border: $K du + A^\top dV = G$, $A du = r_p$.
fn through(
    at: &mut Interior<'_>,
    right: &[f64],
    flow: &[f64],
    wanted: f64,
    driver: &mut Driver<'_>,
) -> (Vec<f64>, Vec<f64>) {
    let mut v = vec![0.0; flow.len()];
    let mut along = right.to_vec();
    at.normal.divide(&mut along);
    let (mut lacks, mut columns) = (vec![0.0; flow.len()], vec![0.0; right.len()]);
    // weights range widely: with a factor at hand further rounds take back what rounding has added to the flow, the first of them
    // without asking how well it did
    let share = (FLOW_LEFT * at.mu()).clamp(FLOW_BETWEEN.0, FLOW_BETWEEN.1);
    let mut asked = 0.0;
    for round in 0..3 {
        at.normal.rows(&along, &mut lacks);
        for (x, f) in lacks.iter_mut().zip(flow) {
            *x -= f;
        }
        at.normal.hold_potentials(&v, -1.0, &mut lacks);
        let left: f64 = lacks.iter().map(|x| x.abs()).sum();
        if left <= share * asked {
            break;
        }
        if round == 0 {
            asked = left;
        }
        let change = match round {
            0 if at.normal.factored() => at.normal.by_factor(&lacks),
            _ => at.normal.solve(&lacks, wanted, &mut || !driver.alive()),
        };
        at.normal.columns(&change, &mut columns);
        at.normal.divide(&mut columns);
        for (x, c) in along.iter_mut().zip(&columns) {
            *x -= c;
        }
        for (v, c) in v.iter_mut().zip(&change) {
            *v += c;
        }
        if !at.normal.factored() {
            break;
        }
    }
    (v, along)
}
