//! Good multipliers for the bound by first arrivals.
//!
//! The bound is convex in $(\lambda, \nu)$ but has kinks: it is minimised with a soft maximum over
//! actions, hotter at first, and judged with the hard one. It begins where it says what counting
//! says: $\nu = w$ for the states whose single values count there, $\lambda = g^{k} w$ for the $k$
//! others.

use ide3al_numerics::projected_lbfgs::{Minimiser, Objective, Stop};

use super::super::driver::Driver;
use crate::formulation::reach::arrivals::Arrivals;
use crate::formulation::reach::world::World;

/// Temperatures, in mean weights of a state.
const TEMPERATURES: [f64; 3] = [1e-1, 3e-2, 1e-2];
/// A temperature that closes less than this share of the gap ends the search.
const WORTHWHILE: f64 = 0.02;
/// Work of all evaluations, in transitions looked at, and evaluations at most; with fewer than
/// `FEWEST` it is not worth beginning.
const TOTAL_WORK: usize = 60_000_000;
const MOST: usize = 200;
const FEWEST: usize = 12;

/// The best bound found, infinite where the bound does not apply or would take too long.
pub(super) fn run(world: &World, single: &[f64], driver: &mut Driver<'_>) -> f64 {
    let sign = if world.is_hitting() { -1.0 } else { 1.0 };
    let n = world.n_states();
    let horizon = if world.is_hitting() {
        3 * n
    } else {
        ((2 * n) as f64).min(8.0 * world.within) as usize + 10
    };
    let each = 2 * horizon * world.entries.len();
    let evaluations = (TOTAL_WORK / each.max(1)).min(MOST);
    let worthless = sign * f64::INFINITY;
    if evaluations < FEWEST {
        return worthless;
    }
    let Some(arrivals) = Arrivals::new(world, horizon) else {
        return worthless;
    };
    let mut bound = Bound {
        world,
        single,
        arrivals,
        scale: n as f64,
        sign,
        temperature: 0.0,
        lambda: vec![0.0; n],
        nu: vec![0.0; if world.is_hitting() { 0 } else { n }],
    };
    let (x, lower, upper) = bound.begin();
    let mut best = bound.hard(&x);
    let mut x = x;
    for temperature in TEMPERATURES {
        bound.temperature =
            temperature / n as f64 * if world.is_hitting() { n as f64 } else { 1.0 };
        let stop = Stop {
            steps: evaluations,
            decrease: 1e-6,
            window: 10,
        };
        let mut minimiser = Minimiser::new(x, lower.clone(), upper.clone(), stop);
        while minimiser.evaluations() < evaluations / TEMPERATURES.len()
            && !minimiser.advance(&mut bound, 8)
        {
            driver.count(8);
            if !driver.should_continue() {
                break;
            }
        }
        x = minimiser.x().to_vec();
        let found = bound.hard(&x);
        let known = if sign * best < sign * driver.best().bound {
            best
        } else {
            driver.best().bound
        };
        if sign * found < sign * best {
            best = found;
        }
        let gap = (known - driver.best().objective).abs();
        if sign * (known - found) < WORTHWHILE * gap || !driver.should_continue() {
            break;
        }
    }
    best
}

/// The bound as a function of $\lambda$ and $\nu$ in units of the weights.
struct Bound<'a> {
    world: &'a World,
    single: &'a [f64],
    arrivals: Arrivals<'a>,
    scale: f64,
    sign: f64,
    temperature: f64,
    lambda: Vec<f64>,
    nu: Vec<f64>,
}

impl Bound<'_> {
    /// Where to begin, and the limits.
    fn begin(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (world, n) = (self.world, self.world.n_states());
        if world.is_hitting() {
            // times in units of the number of states
            let high = (0..n).map(|j| self.unit(j) * self.arrivals.limit(j));
            return (
                vec![1.2; n],
                vec![0.0; n],
                high.map(|x| x.max(1.2)).collect(),
            );
        }
        let mut sorted = self.single.to_vec();
        sorted.sort_by(f64::total_cmp);
        let g = world.discount();
        let (mut by_single, mut counted) = (0.0, (1.0 - g.powf(n as f64)) / (1.0 - g));
        let (mut least, mut cut) = (counted, f64::NEG_INFINITY);
        for (m, v) in sorted.iter().enumerate() {
            by_single += v;
            counted -= g.powf((n - 1 - m) as f64);
            if by_single + counted < least {
                (least, cut) = (by_single + counted, *v);
            }
        }
        let alone = self.single.iter().filter(|v| **v <= cut).count();
        let rest = g.powf((n - alone) as f64);
        let (mut x, mut low) = (Vec::new(), Vec::new());
        for j in 0..n {
            let limit = self.unit(j) * self.arrivals.limit(j);
            low.push(limit);
            x.push(if self.single[j] <= cut {
                limit
            } else {
                rest.max(limit)
            });
        }
        for j in 0..n {
            low.push(0.0);
            x.push(if self.single[j] <= cut { 1.0 } else { 0.0 });
        }
        let high = low.iter().map(|l: &f64| l.max(1.0)).collect();
        (x, low, high)
    }

    /// From multipliers to units.
    fn unit(&self, j: usize) -> f64 {
        let w = self.world.weights[j];
        if w == 0.0 {
            return 0.0;
        }
        1.0 / (w * if self.world.is_hitting() {
            self.scale
        } else {
            1.0
        })
    }

    fn unpack(&mut self, x: &[f64]) {
        let n = self.world.n_states();
        for j in 0..n {
            let unit = self.unit(j);
            let per = if unit > 0.0 { 1.0 / unit } else { 0.0 };
            self.lambda[j] = x[j] * per;
            if let Some(nu) = self.nu.get_mut(j) {
                *nu = x[n + j] * per;
            }
        }
    }

    fn hard(&mut self, x: &[f64]) -> f64 {
        self.unpack(x);
        self.arrivals
            .value((&self.lambda, &self.nu), self.single, 0.0, None)
    }
}

impl Objective for Bound<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.unpack(x);
        let n = self.world.n_states();
        let (by_lambda, by_nu) = gradient.split_at_mut(n);
        let point = (&self.lambda[..], &self.nu[..]);
        let gradients = Some((&mut *by_lambda, &mut *by_nu));
        let value = self
            .arrivals
            .value(point, self.single, self.temperature, gradients);
        for (k, slope) in gradient.iter_mut().enumerate() {
            let unit = self.unit(k % n);
            *slope = if unit > 0.0 {
                self.sign * *slope / unit
            } else {
                0.0
            };
        }
        self.sign * value
    }
}
