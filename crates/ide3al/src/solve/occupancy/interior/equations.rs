//! The equations of a Newton direction of the [interior-point method](super): everything but the
//! potentials and the border is eliminated.
//!
//! With $K$, $A$ as in [`normal`](super::normal) and a border of one column each for $\lambda$, the
//! prices and $t$,
//!
//! $$ \begin{pmatrix} K & A^\top & B \\\\ A & & F \\\\ B^\top & F^\top & D \end{pmatrix}
//!    \begin{pmatrix} du \\\\ dV \\\\ d\eta \end{pmatrix} = \begin{pmatrix} G \\\\ r_p \\\\ q
//!    \end{pmatrix} . $$
//!
//! For coverage $d\omega = du + b\, dt$, and $u$ is the unknown: at the optimum most $u$ vanish,
//! their weights $r / u$ run away, and written in $\omega$ the column of $t$ would be the
//! difference of two such numbers. In $u$ it is $B = N^\top \mathrm{diag}(w) N b$, $F = A b$. All
//! other utilities have $u = \omega$.
//!
//! With restarts $t$ takes the place of one pair among those that stay positive: they are one too
//! few to determine all potentials, and $A K^{-1} A^\top$ tends to a singular matrix. So $h$ is
//! added to the diagonal of one state $i$, and its potential becomes an unknown of the border, with
//! $F = h e_i$ and $D = -h$, that takes it back.

use super::Interior;
use super::point::{ComplementarityRhs, Point};
use crate::solve::driver::Driver;
use ide3al_numerics::gauss::gauss;
use ide3al_numerics::parallel::{add, dot};

/// A column of the border: its $B$ and $F$, its potentials, and what is left of it along the flow
/// constraints.
struct Column {
    given: Vec<f64>,
    flow: Vec<f64>,
    v: Vec<f64>,
    along: Vec<f64>,
}

/// The equations at one point, factored.
pub(super) struct Equations {
    columns: Vec<Column>,
    /// The border's own equations, with everything else eliminated.
    matrix: Vec<f64>,
    flow: Vec<f64>,
    /// What the stationarity equations of pairs lack, links and products apart.
    residual: Vec<f64>,
}

impl Equations {
    /// Nothing where they have no solution in floating point.
    pub(super) fn new(interior: &mut Interior<'_>, driver: &mut Driver<'_>) -> Option<Self> {
        let (mu, at, linear) = (interior.mu(), &interior.at, &interior.linear);
        let weight: Vec<f64> = at.z.iter().zip(&at.x).map(|(z, x)| z / x).collect();
        let mut slope = linear.pair_slope.clone();
        for (slope, (r, u)) in slope.iter_mut().zip(at.r.iter().zip(&at.u)) {
            *slope += r / u;
        }
        let normal = &mut interior.normal;
        if !normal.factor(&slope, &linear.state_slope, &weight, mu) {
            return None;
        }
        let mut columns = border(interior, &weight);
        for column in &mut columns {
            let normal = &mut interior.normal;
            (column.v, column.along) = normal.solve(&column.given, &column.flow, driver);
        }
        let at = &interior.at;
        let (mut residual, z) = (interior.priced(), interior.without_floor(&at.z));
        for (s, range) in interior.of_states().enumerate() {
            for i in range {
                residual[i] = at.state_r[s] + at.r[i] - residual[i] - at.lambda + z[i];
            }
        }
        Some(Equations {
            matrix: matrix(interior, &columns),
            columns,
            flow: interior.flow_residual(),
            residual,
        })
    }

    /// The direction along which products change by `rhs`.
    pub(super) fn direction(
        &self,
        interior: &mut Interior<'_>,
        rhs: &ComplementarityRhs,
        driver: &mut Driver<'_>,
    ) -> Point {
        let (at, linear) = (&interior.at, &interior.linear);
        let [rhs_x, rhs_s, rhs_u] = rhs;
        // what z and the multipliers of u change by apart from x and u themselves
        let from_x: Vec<f64> = rhs_x.iter().zip(&at.x).map(|(a, x)| a / x).collect();
        let from_u: Vec<f64> = rhs_u.iter().zip(&at.u).map(|(a, u)| a / u).collect();
        // G: what the stationarity of each pair lacks, with links and products eliminated
        let mut right = self.residual.clone();
        add(&mut right, 1.0, &interior.without_floor(&from_x));
        for (s, range) in interior.of_states().enumerate() {
            let state = linear.state[s] - at.state_r[s];
            for i in range {
                right[i] += match from_u.get(i) {
                    Some(from_u) => *from_u,
                    None => state + linear.pair[i] - at.r[i],
                };
            }
        }
        let (mut v, mut u) = interior.normal.solve(&right, &self.flow, driver);
        // the border's own equations
        let (at, k) = (&interior.at, self.columns.len());
        let of = |row: &Column| -dot(&row.given, &u) - dot(&row.flow, &v);
        let mut q: Vec<f64> = self.columns.iter().map(of).collect();
        let prices = usize::from(interior.part.restart() == 0.0);
        if prices == 1 {
            q[0] += interior.occupancy_scale - at.omega.iter().sum::<f64>();
        }
        for j in 0..at.s.len() {
            q[prices + j] += interior.slack(j) - at.s[j] - rhs_s[j] / at.y[j];
        }
        if let Some((floor, _)) = &interior.floor {
            let mut lacks = interior.occupancy_scale;
            for (p, b) in floor.iter().enumerate() {
                lacks += b * (right[p] - at.r[p] - from_u[p]);
            }
            q[k - 1] += lacks;
        }
        let border = gauss(self.matrix.clone(), q);
        for (column, change) in self.columns.iter().zip(&border) {
            add(&mut u, -change, &column.along);
            add(&mut v, -change, &column.v);
        }
        // back to what was eliminated
        let mut step = Point {
            x: Vec::new(),
            z: vec![0.0; u.len()],
            u: Vec::new(),
            r: vec![0.0; u.len()],
            state_r: vec![0.0; v.len()],
            s: Vec::new(),
            lambda: border[..prices].iter().sum(),
            y: border[prices..prices + at.s.len()].to_vec(),
            t: 0.0,
            omega: u,
            v,
        };
        if let Some((floor, _)) = &interior.floor {
            step.t = border[k - 1];
            step.u.clone_from(&step.omega);
            add(&mut step.omega, step.t, floor);
        }
        step.x = interior.without_floor(&step.omega);
        for (s, range) in interior.of_states().enumerate() {
            if step.u.is_empty() {
                let d: f64 = step.omega[range.clone()].iter().sum();
                step.state_r[s] = linear.state[s] - at.state_r[s] - linear.state_slope[s] * d;
            }
            for i in range {
                step.z[i] = from_x[i] - at.z[i] / at.x[i] * step.x[i];
                step.r[i] = match step.u.get(i) {
                    Some(u) => from_u[i] - at.r[i] / at.u[i] * u,
                    None => linear.pair[i] - at.r[i] - linear.pair_slope[i] * step.omega[i],
                };
            }
        }
        let spent = |j: usize| dot(&interior.limits[j].cost, &step.omega) / interior.cost_scales[j];
        step.s = (0..at.s.len())
            .map(|j| interior.slack(j) - at.s[j] - spent(j))
            .collect();
        step
    }
}

/// $B$ and $F$ of the border: the sum, the prices, the potential that is to be set free again, $t$.
/// `weight` is $z / x$.
fn border(interior: &Interior<'_>, weight: &[f64]) -> Vec<Column> {
    let (pairs, states) = (weight.len(), interior.at.v.len());
    let mut columns = Vec::new();
    let mut push = |given: Vec<f64>, flow: Vec<f64>| {
        columns.push(Column {
            given,
            flow,
            v: Vec::new(),
            along: Vec::new(),
        });
    };
    if interior.part.restart() == 0.0 {
        push(vec![1.0; pairs], vec![0.0; states]);
    }
    for (limit, unit) in interior.limits.iter().zip(&interior.cost_scales) {
        let cost = limit.cost.iter().map(|c| c / unit).collect();
        push(cost, vec![0.0; states]);
    }
    if let Some((s, extra)) = interior.normal.to_set_free() {
        let mut flow = vec![0.0; states];
        flow[s] = extra;
        push(vec![0.0; pairs], flow);
    }
    if let Some((floor, _)) = &interior.floor {
        // N diag(w) N b
        let mut weighted = interior.without_floor(floor);
        weighted.iter_mut().zip(weight).for_each(|(x, w)| *x *= w);
        let weighted = interior.without_floor(&weighted);
        let mut flow = vec![0.0; states];
        interior.normal.system.rows(floor, &mut flow);
        push(weighted, flow);
    }
    columns
}

/// $D - B^\top du - F^\top dV$ for the $du$ and $dV$ of every column; $t$ is the last of them,
/// after the potential that is to be set free.
fn matrix(interior: &Interior<'_>, columns: &[Column]) -> Vec<f64> {
    let (at, k) = (&interior.at, columns.len());
    let mut matrix = vec![0.0; k * k];
    for (i, row) in columns.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            matrix[i * k + j] = -dot(&row.given, &column.along) - dot(&row.flow, &column.v);
        }
    }
    let prices = usize::from(interior.part.restart() == 0.0);
    for j in 0..at.s.len() {
        matrix[(prices + j) * (k + 1)] -= at.s[j] / at.y[j];
    }
    if let Some((floor, _)) = &interior.floor {
        let t = k - 1;
        if let Some((_, extra)) = interior.normal.to_set_free() {
            matrix[(t - 1) * (k + 1)] -= extra;
        }
        for (i, column) in columns.iter().enumerate() {
            let meets = dot(&column.given, floor);
            matrix[i * k + t] += meets;
            if i < t {
                matrix[t * k + i] += meets;
            }
        }
    }
    matrix
}
