//! Coverage of models too large to factor, by restarted primal-dual steps.
//!
//! With $\omega = t\, w$ coverage is a linear program without a scale: the fewest steps in which
//! $b$ of each pair can be had,
//!
//! $$\min_{w \ge b} \mathbf 1 \cdot w \quad \text{subject to} \quad A w = 0, \; N w \ge 0 ,$$
//!
//! $A w = d - P_\rho^\top w$ the flow constraints, $N w = w - \xi d$, and $t$ is one over the
//! optimum. With multipliers $V$ and $z \ge 0$ the reduced costs $r = 1 - A^\top V - N^\top z$,
//! raised by what makes them positive, are rewards whose bound is computed apart. A step is two
//! products with $P$. An interior-point method would need hundreds of times as many: near a vertex
//! its equations are too uneven for conjugate gradients.

use super::certifier::{Certifier, PolicyOccupancy};
use crate::formulation::occupancy::{Dual, Occupancies};
use crate::model::Kernel;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use ide3al_numerics::parallel;
use ide3al_numerics::primal_dual::{Iteration, SaddlePoint, Side};

/// Steps before the first answer is certified, and the factor from one certificate to the next: a
/// certificate costs as much as many steps, and with this factor at most a fifth of all steps is
/// taken in vain.
const FIRST_LOOK: usize = 200;
const LOOK: f64 = 1.25;

/// The linear program of the fewest steps; $y = (V, z)$, without $z$ where $\xi = 0$.
struct FewestSteps<'a> {
    part: &'a Occupancies,
    transposed: Kernel,
    wanted: Vec<f64>,
}

impl FewestSteps<'_> {
    fn with_floor(&self) -> bool {
        self.part.xi() > 0.0
    }
}

impl SaddlePoint for FewestSteps<'_> {
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]) {
        let (v, z) = y.split_at(self.part.mdp().n_states());
        // P V - V is minus the transposed flow constraints
        self.part.advantage(&[], v, &[], out);
        let (mdp, xi) = (self.part.mdp(), self.part.xi());
        parallel::blocks(mdp.first_pair(), out, |s, row| {
            let z = z.get(mdp.pairs(s)).unwrap_or_default();
            let sum: f64 = z.iter().sum();
            for (k, x) in row.iter_mut().enumerate() {
                *x = 1.0 + *x - z.get(k).map_or(0.0, |z| z - xi * sum);
            }
        });
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        let mdp = self.part.mdp();
        let (flow, floor) = out.split_at_mut(mdp.n_states());
        mdp.kernel().arrivals(&self.transposed, x, flow);
        let (restart, start) = (self.part.restart(), mdp.start());
        let inflow = restart * x.iter().sum::<f64>();
        parallel::update(flow, |s, arriving| {
            let d: f64 = x[mdp.pairs(s)].iter().sum();
            (1.0 - restart) * arriving + inflow * start[s] - d
        });
        if self.with_floor() {
            // minus N w
            let xi = self.part.xi();
            parallel::blocks(mdp.first_pair(), floor, |s, row| {
                let x = &x[mdp.pairs(s)];
                let sum: f64 = x.iter().sum();
                for (out, x) in row.iter_mut().zip(x) {
                    *out = -(x - xi * sum);
                }
            });
        }
    }

    fn project_primal(&self, x: &mut [f64]) {
        parallel::update(x, |i, x| x.max(self.wanted[i]));
    }

    fn project_dual(&self, y: &mut [f64]) {
        let floor = self.part.mdp().n_states();
        parallel::update(&mut y[floor..], |_, z| z.max(0.0));
    }
}

/// The steps.
pub(super) struct Flows<'a> {
    pub(super) certifier: Certifier<'a>,
    program: FewestSteps<'a>,
    iteration: Iteration,
    taken: usize,
    look: usize,
}

impl<'a> Flows<'a> {
    /// `wanted` is $b$ on the part.
    pub(super) fn new(certifier: Certifier<'a>, wanted: &[f64]) -> Self {
        let part = certifier.part;
        let mdp = part.mdp();
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let mean = wanted.iter().sum::<f64>() / pairs as f64;
        let transposed = mdp.kernel().transpose();
        // the sums of the rows of A: its own pairs, what arrives, what starts over
        let mut arriving = vec![0.0; n];
        mdp.kernel()
            .arrivals(&transposed, &vec![1.0; pairs], &mut arriving);
        let sum = |s: usize| {
            let moved = (1.0 - part.restart()) * arriving[s];
            mdp.n_actions(s) as f64 + moved + part.restart() * mdp.start()[s] * pairs as f64
        };
        let program = FewestSteps {
            wanted: wanted.iter().map(|b| b / mean).collect(),
            transposed,
            part,
        };
        // T from the sums of a column: two of A, and two of N
        let (tau, floor) = if program.with_floor() {
            (0.25, pairs)
        } else {
            (0.5, 0)
        };
        let sigma = (0..n).map(|s| 1.0 / sum(s));
        let sigma = sigma.chain(std::iter::repeat_n(0.5, floor)).collect();
        let primal = Side::new(program.wanted.clone(), vec![tau; pairs]);
        let dual = Side::new(vec![0.0; n + floor], sigma);
        let iteration = Iteration::new(primal, dual, 1.0);
        Flows {
            certifier,
            program,
            iteration,
            taken: 0,
            look: FIRST_LOOK,
        }
    }

    /// Goes on until the answer is close enough, or the solve is to stop.
    pub(super) fn run(&mut self, driver: &mut Driver<'_>) {
        if !driver.run(self) {
            // what is at hand is better than nothing
            let candidate = self.certified();
            driver.offer(candidate, self.name());
        }
    }

    /// What is at hand as a candidate.
    fn certified(&mut self) -> Candidate {
        let (part, w) = (self.program.part, &self.iteration.primal.point);
        let mut r = vec![0.0; w.len()];
        self.program
            .primal_gradient(&self.iteration.dual.point, &mut r);
        let least = r.iter().copied().fold(f64::INFINITY, f64::min);
        r.iter_mut().for_each(|r| *r -= least);
        let v = self.iteration.dual.point[..part.mdp().n_states()]
            .iter()
            .map(|v| -v);
        let dual = Dual {
            r,
            v: v.collect(),
            prices: Vec::new(),
            price_scale: 1.0,
        };
        let visited = PolicyOccupancy::by_occupancy(part, &[], w);
        self.certifier.certify(visited, dual)
    }
}

impl Method for Flows<'_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn step(&mut self, _: &mut Driver<'_>) -> Step {
        self.iteration.advance(&self.program);
        self.taken += 1;
        if self.taken < self.look {
            return Step::Going;
        }
        self.look = (LOOK * self.taken as f64) as usize;
        Step::Offer(self.certified())
    }
}
