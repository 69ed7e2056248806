//! The one loop: clock, observer, best-of, status and the solver's name, for every method.

use std::time::{Duration, Instant};

use super::{Certificate, Observer, Options, Progress, Status};

/// A gap this small is rounding: objectives are sums over all transitions.
const ROUNDING: f64 = 1e-12;

/// By how much of its size a bound may exceed a value: both are rounded.
const CONTRADICTION: f64 = 1e-9;

/// What a method has to offer: a policy in $\Delta_\xi$ with its value, and a dual point with what
/// it proves.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) policy: Vec<f64>,
    pub(super) objective: f64,
    pub(super) bound: f64,
    pub(super) dual: Vec<f64>,
}

/// How a method's step ended.
pub(super) enum Step {
    /// Nothing to show yet.
    Going,
    /// Something to be judged.
    Offer(Candidate),
    /// No further progress; what was offered is all there is.
    End,
}

/// A way to solve a problem, step by step. Steps are short, or ask [`Driver::should_continue`]
/// inside.
pub(super) trait Method {
    /// As shown to the user.
    fn name(&self) -> &'static str;
    /// Goes on by one step.
    fn step(&mut self, driver: &mut Driver<'_>) -> Step;
}

/// Which parts of two candidates belong together, and which way is better.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub(super) maximises: bool,
    /// Whether the dual point is that of the best policy (else that of the best bound).
    pub(super) dual_follows_policy: bool,
}

/// Runs methods and keeps the best of what they offer.
pub(super) struct Driver<'a> {
    comparison: Comparison,
    pub(super) absolute: f64,
    pub(super) relative: f64,
    max_iterations: usize,
    started: Instant,
    time_limit: Option<Duration>,
    observer: &'a mut dyn Observer,
    stopped: Option<Status>,
    best: Candidate,
    iterations: usize,
    solver: &'static str,
    /// Objective and gap that the observer sees while a subproblem is solved.
    shown: Option<(f64, f64)>,
}

impl<'a> Driver<'a> {
    /// `first` is known without solving anything: a policy, and bounds of all values on both sides.
    pub(super) fn new(
        comparison: Comparison,
        options: &Options,
        first: Candidate,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Driver {
            comparison,
            absolute: options.tolerance.max(ROUNDING),
            relative: options.relative_tolerance,
            max_iterations: options.max_iterations,
            started: Instant::now(),
            time_limit: options.time_limit,
            observer,
            stopped: None,
            best: first,
            iterations: 0,
            solver: "none",
            shown: None,
        }
    }

    /// Runs a method until its answer is close enough, it ends, or the solve is to stop. Returns
    /// whether the best answer is close enough.
    pub(super) fn run(&mut self, method: &mut dyn Method) -> bool {
        while !self.done() && self.should_continue() {
            if self.iterations >= self.max_iterations {
                self.stopped.get_or_insert(Status::IterationLimit);
                break;
            }
            self.iterations += 1;
            match method.step(self) {
                Step::Going => {}
                Step::Offer(candidate) => {
                    self.offer(candidate, method.name());
                }
                Step::End => break,
            }
        }
        self.done()
    }

    /// Takes a candidate, as far as it is better than what is at hand; returns whether that is
    /// enough.
    pub(super) fn offer(&mut self, candidate: Candidate, solver: &'static str) -> bool {
        let sign = if self.comparison.maximises { -1.0 } else { 1.0 };
        let better = sign * candidate.objective < sign * self.best.objective;
        let contradicts = |bound: f64, value: f64| {
            sign * bound > sign * value + CONTRADICTION * (1.0 + value.abs())
        };
        if better && contradicts(self.best.bound, candidate.objective) {
            // a policy is better than the bound allows: the bound was wrong by rounding
            self.best.bound = -sign * f64::INFINITY;
        }
        // a bound beyond the value of a policy at hand is wrong by rounding and is not taken
        let reached = sign * (sign * candidate.objective).min(sign * self.best.objective);
        let credible = !contradicts(candidate.bound, reached);
        let tighter = credible && sign * candidate.bound > sign * self.best.bound;
        if better {
            self.best.objective = candidate.objective;
            self.best.policy = candidate.policy;
            self.solver = solver;
        }
        if tighter {
            self.best.bound = candidate.bound;
        }
        let follows = if self.comparison.dual_follows_policy {
            better
        } else {
            tighter
        };
        if follows {
            self.best.dual = candidate.dual;
        }
        self.done()
    }

    /// Replaces the best policy by another one of the same value.
    pub(super) fn replace(&mut self, policy: Vec<f64>, objective: f64) {
        self.best.policy = policy;
        self.best.objective = objective;
    }

    /// Counts steps that no [`run`](Self::run) counts.
    pub(super) fn count(&mut self, steps: usize) {
        self.iterations += steps;
    }

    /// How many more steps may be counted.
    pub(super) fn steps_left(&self) -> usize {
        self.max_iterations.saturating_sub(self.iterations)
    }

    /// Whether to go on: asks the clock and the observer.
    pub(super) fn should_continue(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        let (objective, gap) = self.shown.unwrap_or((self.best.objective, self.gap()));
        let progress = Progress {
            iteration: self.iterations,
            objective,
            gap,
        };
        if self
            .time_limit
            .is_some_and(|limit| self.started.elapsed() >= limit)
        {
            self.stopped = Some(Status::TimeLimit);
        } else if self.observer.on(&progress).is_break() {
            self.stopped = Some(Status::Interrupted);
        }
        self.stopped.is_none()
    }

    /// The best so far.
    pub(super) fn best(&self) -> &Candidate {
        &self.best
    }

    fn gap(&self) -> f64 {
        (self.best.objective - self.best.bound).abs()
    }

    /// Whether the best answer is close enough.
    pub(super) fn done(&self) -> bool {
        let gap = self.gap();
        gap.is_finite() && gap <= self.wanted(self.best.objective)
    }

    /// The gap that would be close enough at this objective.
    pub(super) fn wanted(&self, objective: f64) -> f64 {
        self.absolute.max(self.relative * objective.abs())
    }

    /// Seconds left, for solvers that keep their own clock.
    pub(super) fn seconds_left(&self) -> f64 {
        self.time_limit.map_or(1e9, |limit| {
            limit.saturating_sub(self.started.elapsed()).as_secs_f64()
        })
    }

    /// How the solve ended.
    pub(super) fn status(&mut self) -> Status {
        if self.done() {
            Status::Optimal
        } else {
            // the conic solver keeps a clock of its own, and may have ended because of it
            self.should_continue();
            self.stopped.unwrap_or(Status::Stalled)
        }
    }

    /// The proof of the policy as it is handed over.
    pub(super) fn certificate(&mut self, objective: f64) -> Certificate {
        Certificate {
            objective,
            bound: self.best.bound,
            gap: (self.best.bound - objective).abs(),
            status: self.status(),
            iterations: self.iterations,
            seconds: self.started.elapsed().as_secs_f64(),
        }
    }

    pub(super) fn solver(&self) -> &'static str {
        self.solver
    }

    /// Solves with so many steps more at most; that these are used up stops nothing else.
    pub(super) fn within_steps<T>(&mut self, most: usize, solve: impl FnOnce(&mut Self) -> T) -> T {
        let limit = self.max_iterations;
        self.max_iterations = limit.min(self.iterations.saturating_add(most));
        let found = solve(self);
        self.max_iterations = limit;
        if self.stopped == Some(Status::IterationLimit) && self.iterations < limit {
            self.stopped = None;
        }
        found
    }

    /// Solves a subproblem under the same clock and observer, which goes on seeing the best of the
    /// problem itself. A limit that ends the one ends the other.
    pub(super) fn subproblem<T>(
        &mut self,
        comparison: Comparison,
        gaps: (f64, f64),
        first: Candidate,
        solve: impl FnOnce(&mut Driver<'_>) -> T,
    ) -> T {
        let shown = self.shown.unwrap_or((self.best.objective, self.gap()));
        let mut inner = Driver {
            comparison,
            absolute: gaps.0,
            relative: gaps.1,
            observer: &mut *self.observer,
            best: first,
            solver: "none",
            shown: Some(shown),
            ..*self
        };
        let found = solve(&mut inner);
        (self.stopped, self.iterations) = (inner.stopped, inner.iterations);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends never.
    struct Endless;

    impl Method for Endless {
        fn name(&self) -> &'static str {
            "endless"
        }

        fn step(&mut self, _: &mut Driver<'_>) -> Step {
            Step::Going
        }
    }

    /// A part that has used up its steps leaves the rest to others; one that has used up all there
    /// are does not.
    #[test]
    fn a_part_may_run_out_of_steps() {
        let comparison = Comparison {
            maximises: false,
            dual_follows_policy: false,
        };
        let options = Options {
            max_iterations: 25,
            ..Options::default()
        };
        let mut nobody = ();
        let mut driver = Driver::new(comparison, &options, candidate(9.0, 0.0), &mut nobody);
        for (steps, status) in [
            (10, Status::Stalled),
            (20, Status::Stalled),
            (25, Status::IterationLimit),
        ] {
            driver.within_steps(10, |driver| driver.run(&mut Endless));
            assert_eq!((driver.iterations, driver.status()), (steps, status));
        }
    }

    fn candidate(objective: f64, bound: f64) -> Candidate {
        Candidate {
            policy: Vec::new(),
            objective,
            bound,
            dual: Vec::new(),
        }
    }

    /// A bound that a better policy refutes goes, and with it the claim to be optimal; in both
    /// directions.
    #[test]
    fn a_refuted_bound_is_forgotten() {
        for sign in [1.0, -1.0] {
            let comparison = Comparison {
                maximises: sign < 0.0,
                dual_follows_policy: false,
            };
            let mut nobody = ();
            let first = candidate(sign * 9.0, sign * -9.0);
            let mut driver = Driver::new(comparison, &Options::default(), first, &mut nobody);
            assert!(driver.offer(candidate(sign * 2.0, sign * 2.0), "one"));
            assert!(!driver.offer(candidate(sign * 1.0, sign * -5.0), "two"));
            assert_eq!(driver.best().bound.to_bits(), (sign * -5.0).to_bits());
            // and one that is beyond the policy at hand is not taken
            assert!(!driver.offer(candidate(sign * 3.0, sign * 2.0), "three"));
            assert_eq!(driver.best().bound.to_bits(), (sign * -5.0).to_bits());
            assert_eq!(driver.status(), Status::Stalled);
        }
    }
}
