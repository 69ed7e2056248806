//! Minimises a smooth function within bounds: two-metric projection with limited-memory BFGS.
//!
//! Variables at a bound that the gradient pushes further out stay there; along the others the step
//! is that of L-BFGS (Nocedal and Wright, *Numerical Optimization*, 2006, section 7.2) with pairs
//! of steps and gradients cut down to them, projected onto the bounds and shortened until Armijo's
//! condition holds (Bertsekas, *SIAM Journal on Control and Optimization* 20, 1982, 221-246;
//! Schmidt, Kim and Sra, *Optimization for Machine Learning*, 2011, section 11.4). It may be
//! stopped after any evaluation and goes on where it was.

use super::parallel::{add, dot, largest};

/// Pairs of steps and gradients that are remembered.
const PAIRS: usize = 10;
/// Nearer to a bound than this counts as at it.
const AT_BOUND: f64 = 1e-9;
/// Least decrease of a step, as a share of what the gradient promises.
const ARMIJO: f64 = 1e-4;
/// By how much a step that does not decrease enough is shortened, and how often.
const SHORTEN: f64 = 0.4;
const SHORTENINGS: u32 = 12;
/// Largest change of a variable in the first step.
const FIRST_STEP: f64 = 0.3;

/// What is minimised.
pub trait Objective {
    /// The value at `x`, with its gradient; not finite where there is none.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// Mends a trial point, which lies within the bounds, before it is evaluated.
    fn mend(&self, _from: &[f64], _trial: &mut [f64]) {}
}

/// When to end.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    /// Steps at most.
    pub steps: usize,
    /// Relative decrease per step, on average over `window` steps, that is worth going on for.
    pub decrease: f64,
    /// See `decrease`.
    pub window: usize,
}

/// A minimisation in progress.
#[derive(Debug, Clone)]
pub struct Minimiser {
    x: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
    lower: Vec<f64>,
    upper: Vec<f64>,
    stop: Stop,
    history: Vec<f64>,
    pairs: Vec<Pair>,
    direction: Vec<f64>,
    free: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
    evaluations: usize,
    finished: bool,
}

#[derive(Debug, Clone)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

impl Minimiser {
    /// From `x`, which lies within the bounds.
    pub fn new(x: Vec<f64>, lower: Vec<f64>, upper: Vec<f64>, stop: Stop) -> Self {
        let n = x.len();
        Minimiser {
            gradient: vec![0.0; n],
            value: f64::NAN,
            lower,
            upper,
            stop,
            history: Vec::new(),
            pairs: Vec::new(),
            direction: vec![0.0; n],
            free: vec![1.0; n],
            trial: x.clone(),
            trial_gradient: vec![0.0; n],
            evaluations: 0,
            finished: false,
            x,
        }
    }

    /// Where it is.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The value there; not a number before the first evaluation.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Evaluations so far.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Whether there is nothing more to do.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Goes on for about so many evaluations, a few more at most. Returns whether it has finished.
    pub fn advance(&mut self, objective: &mut impl Objective, evaluations: usize) -> bool {
        let end = self.evaluations + evaluations;
        if self.evaluations == 0 {
            self.value = objective.evaluate(&self.x, &mut self.gradient);
            self.evaluations = 1;
            self.history.push(self.value);
            self.finished = !self.value.is_finite();
        }
        while !self.finished && self.evaluations < end {
            self.finished = !self.step(objective);
        }
        self.finished
    }

    /// One step; false where none leads further or none is worth it.
    fn step(&mut self, objective: &mut impl Objective) -> bool {
        if self.history.len() > self.stop.steps {
            return false;
        }
        for (i, free) in self.free.iter_mut().enumerate() {
            let (x, g) = (self.x[i], self.gradient[i]);
            let held = (x <= self.lower[i] + AT_BOUND && g >= 0.0)
                || (x >= self.upper[i] - AT_BOUND && g <= 0.0);
            *free = if held { 0.0 } else { 1.0 };
        }
        let mut length = self.direct();
        if !(length > 0.0) {
            return false;
        }
        for _ in 0..SHORTENINGS {
            for (i, trial) in self.trial.iter_mut().enumerate() {
                let moved = self.x[i] + length * self.direction[i];
                *trial = moved.clamp(self.lower[i], self.upper[i]);
            }
            objective.mend(&self.x, &mut self.trial);
            let value = objective.evaluate(&self.trial, &mut self.trial_gradient);
            self.evaluations += 1;
            let moves = self.x.iter().zip(&self.trial).map(|(x, t)| t - x);
            let predicted: f64 = moves.zip(&self.gradient).map(|(m, g)| m * g).sum();
            let rounding = 1e-13 * self.value.abs();
            if value <= self.value + ARMIJO * predicted && value < self.value + rounding {
                self.accept(value);
                return self.is_worth_it();
            }
            length *= SHORTEN;
        }
        // along the gradient, if not tried already
        let had_pairs = !self.pairs.is_empty();
        self.pairs.clear();
        had_pairs
    }

    /// The direction of the next step; returns how much of it to take first, 0 at a stationary
    /// point.
    fn direct(&mut self) -> f64 {
        let q = &mut self.direction;
        for (i, q) in q.iter_mut().enumerate() {
            *q = -self.gradient[i] * self.free[i];
        }
        let steepest = largest(q);
        if !(steepest > 0.0) {
            return 0.0;
        }
        let first = FIRST_STEP / steepest;
        let free = &self.free;
        let masked = |a: &[f64], b: &[f64]| -> f64 {
            let both = a.iter().zip(b).zip(free);
            both.map(|((a, b), free)| a * b * free).sum()
        };
        // pairs of positive curvature along the free variables, latest first
        let mut used = [(0usize, 0.0f64, 0.0f64); PAIRS];
        let mut count = 0;
        for (k, pair) in self.pairs.iter().enumerate().rev() {
            let curvature = masked(&pair.step, &pair.change);
            let sizes = masked(&pair.step, &pair.step) * masked(&pair.change, &pair.change);
            if curvature > 1e-12 * sizes.sqrt() && curvature > 0.0 {
                let along = masked(&pair.step, q) / curvature;
                add(q, -along, &pair.change);
                used[count] = (k, along, curvature);
                count += 1;
            }
        }
        let Some(&(latest, _, curvature)) = used[..count].first() else {
            return first;
        };
        let change = &self.pairs[latest].change;
        let scale = curvature / masked(change, change);
        q.iter_mut()
            .zip(free)
            .for_each(|(q, free)| *q *= scale * free);
        for &(k, along, curvature) in used[..count].iter().rev() {
            let pair = &self.pairs[k];
            let back = masked(&pair.change, q) / curvature;
            add(q, along - back, &pair.step);
        }
        q.iter_mut().zip(free).for_each(|(q, free)| *q *= free);
        if !(dot(q, &self.gradient) < 0.0) {
            // not a direction of descent: rounding
            self.pairs.clear();
            for (i, q) in self.direction.iter_mut().enumerate() {
                *q = -self.gradient[i] * self.free[i];
            }
            return first;
        }
        1.0
    }

    fn accept(&mut self, value: f64) {
        let mut pair = if self.pairs.len() == PAIRS {
            self.pairs.remove(0)
        } else {
            Pair {
                step: vec![0.0; self.x.len()],
                change: vec![0.0; self.x.len()],
            }
        };
        for i in 0..self.x.len() {
            pair.step[i] = self.trial[i] - self.x[i];
            pair.change[i] = self.trial_gradient[i] - self.gradient[i];
        }
        let curvature = dot(&pair.step, &pair.change);
        let sizes = dot(&pair.step, &pair.step) * dot(&pair.change, &pair.change);
        if curvature > 1e-10 * sizes.sqrt() {
            self.pairs.push(pair);
        }
        std::mem::swap(&mut self.x, &mut self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        self.value = value;
        self.history.push(value);
    }

    fn is_worth_it(&self) -> bool {
        let n = self.history.len();
        if n <= self.stop.window {
            return true;
        }
        let gained = self.history[n - 1 - self.stop.window] - self.value;
        gained >= self.stop.decrease * self.stop.window as f64 * self.value.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A convex quadratic whose minimum within the box is known by its optimality conditions.
    struct Quadratic(usize);

    impl Objective for Quadratic {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            let n = self.0;
            let mut value = 0.0;
            for i in 0..n {
                let next = x[(i + 1) % n];
                let target = (i as f64 * 1.3).sin() * 2.0;
                let (a, b) = (x[i] - target, x[i] - next);
                value += 0.5 * a * a * (1.0 + i as f64) + 5.0 * b * b;
                gradient[i] = 0.0;
            }
            for i in 0..n {
                let target = (i as f64 * 1.3).sin() * 2.0;
                gradient[i] += (x[i] - target) * (1.0 + i as f64) + 10.0 * (x[i] - x[(i + 1) % n]);
                gradient[(i + 1) % n] -= 10.0 * (x[i] - x[(i + 1) % n]);
            }
            value
        }
    }

    fn stop() -> Stop {
        Stop {
            steps: 500,
            decrease: 0.0,
            window: 500,
        }
    }

    #[test]
    fn ends_where_no_variable_can_improve() {
        let n = 40;
        let (low, high) = (vec![-0.5; n], vec![1.0; n]);
        let mut minimiser = Minimiser::new(vec![0.1; n], low, high, stop());
        // in portions: the path is the same
        let mut objective = Quadratic(n);
        while !minimiser.advance(&mut objective, 7) {}
        let mut gradient = vec![0.0; n];
        objective.evaluate(minimiser.x(), &mut gradient);
        for (x, g) in minimiser.x().iter().zip(&gradient) {
            let inside = *x > -0.5 && *x < 1.0;
            let settled = if inside {
                g.abs() < 1e-5
            } else if *x == 1.0 {
                *g <= 0.0
            } else {
                *g >= 0.0
            };
            assert!(settled, "{x} {g}");
        }
        assert!(minimiser.x().contains(&1.0) && minimiser.x().contains(&-0.5));
        let mut whole = Minimiser::new(vec![0.1; n], vec![-0.5; n], vec![1.0; n], stop());
        whole.advance(&mut objective, usize::MAX / 2);
        assert_eq!(whole.x(), minimiser.x());
    }

    /// Nowhere finite, or at a minimum already.
    #[test]
    fn ends_at_once_where_there_is_nothing_to_do() {
        struct Flat(f64);
        impl Objective for Flat {
            fn evaluate(&mut self, _: &[f64], gradient: &mut [f64]) -> f64 {
                gradient.fill(0.0);
                self.0
            }
        }
        for value in [f64::NAN, 1.0] {
            let mut minimiser = Minimiser::new(vec![0.5], vec![0.0], vec![1.0], stop());
            assert!(minimiser.advance(&mut Flat(value), 100));
            assert_eq!(minimiser.evaluations(), 1);
        }
    }
}
