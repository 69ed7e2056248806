//! Limits of time and iterations, and interruption by the observer. Whether a plan is exact enough
//! is decided in [`iterate`](super::iterate).

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::Options;
use crate::solve::{Observer, Progress, Status};

/// Counts iterations, and says when there must be no more.
pub(super) struct Clock<'a> {
    observer: &'a mut dyn Observer,
    begun: Instant,
    limit: Option<Duration>,
    most: usize,
    /// Iterations so far.
    pub(super) iterations: usize,
    /// Why it ended early, if it did.
    pub(super) stopped: Option<Status>,
}

impl<'a> Clock<'a> {
    pub(super) fn new(options: &Options, observer: &'a mut dyn Observer) -> Self {
        Clock {
            observer,
            begun: Instant::now(),
            limit: options.time_limit,
            most: options.max_iterations,
            iterations: 0,
            stopped: None,
        }
    }

    /// One more iteration is done; whether another may follow.
    pub(super) fn tick(&mut self, objective: f64, gap: f64) -> bool {
        self.iterations += 1;
        let progress = Progress {
            iteration: self.iterations,
            objective,
            gap,
        };
        if self.observer.on(&progress) == ControlFlow::Break(()) {
            self.stopped = Some(Status::Interrupted);
        } else if self
            .limit
            .is_some_and(|limit| self.begun.elapsed() >= limit)
        {
            self.stopped = Some(Status::TimeLimit);
        } else if self.iterations >= self.most {
            self.stopped = Some(Status::IterationLimit);
        }
        self.stopped.is_none()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
