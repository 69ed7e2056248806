//! All unknowns of the [interior-point method](super), how far a change of them may go, and what
//! becomes of their products.

use ide3al_numerics::parallel::{add, dot};

/// A point, or a change of one. $u$ is empty but for coverage.
pub(super) struct Point {
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

/// One number for each of the products $x z$, $s y$ and $u r$.
pub(super) type ComplementarityRhs = [Vec<f64>; 3];

impl Point {
    /// Positive quantities beside their multipliers.
    pub(super) fn complementary(&self) -> [(&[f64], &[f64]); 3] {
        [
            (&self.x, &self.z),
            (&self.s, &self.y),
            (&self.u, &self.r[..self.u.len()]),
        ]
    }

    /// The sum of all products, and how many there are.
    pub(super) fn complementarity(&self) -> (f64, usize) {
        let sums = self.complementary().map(|(a, b)| dot(a, b));
        (
            sums.iter().sum(),
            self.x.len() + self.s.len() + self.u.len(),
        )
    }

    pub(super) fn is_finite(&self) -> bool {
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        finite(&self.omega) && finite(&self.v) && finite(&self.y) && self.t.is_finite()
    }

    /// Goes along a step by its primal and dual length.
    pub(super) fn add_step(&mut self, step: &Point, (primal, dual): (f64, f64)) {
        add(&mut self.omega, primal, &step.omega);
        add(&mut self.x, primal, &step.x);
        add(&mut self.u, primal, &step.u);
        add(&mut self.s, primal, &step.s);
        self.t += primal * step.t;
        add(&mut self.v, dual, &step.v);
        self.lambda += dual * step.lambda;
        add(&mut self.z, dual, &step.z);
        add(&mut self.r, dual, &step.r);
        add(&mut self.state_r, dual, &step.state_r);
        add(&mut self.y, dual, &step.y);
    }

    /// How far one can go, primal and dual, until some quantity or multiplier vanishes.
    pub(super) fn max_step(&self, step: &Point) -> (f64, f64) {
        let (mut primal, mut dual) = (f64::INFINITY, f64::INFINITY);
        for ((a, b), (da, db)) in self.complementary().into_iter().zip(step.complementary()) {
            primal = primal.min(max_step(a, da));
            dual = dual.min(max_step(b, db));
        }
        (primal, dual)
    }

    /// The least product and the mean of all after a step.
    pub(super) fn complementarity_after(
        &self,
        step: &Point,
        (primal, dual): (f64, f64),
    ) -> (f64, f64) {
        let (mut least, mut total, mut count) = (f64::INFINITY, 0.0, 0);
        for ((a, b), (da, db)) in self.complementary().into_iter().zip(step.complementary()) {
            for i in 0..a.len() {
                let product = (a[i] + primal * da[i]) * (b[i] + dual * db[i]);
                least = least.min(product);
                total += product;
                count += 1;
            }
        }
        (least, total / f64::from(count))
    }

    /// By how much products are to change to first order to become `centre`, given the products of
    /// the changes of an earlier direction.
    pub(super) fn complementarity_rhs(
        &self,
        centre: f64,
        earlier: Option<&Point>,
    ) -> ComplementarityRhs {
        let mut rhs = self.complementary().map(|(a, b)| {
            let products = a.iter().zip(b).map(|(a, b)| a * b);
            products.map(|x| centre - x).collect::<Vec<f64>>()
        });
        let second_order = earlier.into_iter().flat_map(Point::complementary);
        for (rhs, (da, db)) in rhs.iter_mut().zip(second_order) {
            for (i, target) in rhs.iter_mut().enumerate() {
                *target -= da[i] * db[i];
            }
        }
        rhs
    }
}

/// How far one can go until one of the values vanishes.
pub(super) fn max_step(values: &[f64], changes: &[f64]) -> f64 {
    let mut most = f64::INFINITY;
    for (x, dx) in values.iter().zip(changes) {
        if *dx < 0.0 {
            most = most.min(-x / dx);
        }
    }
    most
}
