//! The normal equations $A K^{-1} A^\top v = b$ of the occupancies' Newton steps: how well they are
//! solved, and by what.
//!
//! $K$ holds one block per state,
//!
//! $$K_s = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N^\top \mathrm{diag}(w) N, \qquad N = I - \xi \mathbf 1 \mathbf 1^\top ,$$
//!
//! $h$ and $g$ the curvature of the utility by pairs and by state, $w$ the barrier's weights of
//! $\omega - \xi d \ge 0$: a [flow system](crate::solve::kkt::flow_system). It is solved by
//! conjugate gradients, preconditioned by its diagonal as long as that takes less work than its
//! Cholesky factor would, then by that factor, so that one or two steps mend the rounding: the
//! nearer to the optimum, the more the weights differ, and the worse the diagonal does. Models
//! whose factor is too large keep to the diagonal.

use crate::formulation::occupancy::Occupancies;
use crate::solve::cost::DENSE;
use crate::solve::driver::Driver;
use crate::solve::kkt::flow_system::{FlowSystem, steps_worth};
use ide3al_numerics::parallel::add;

/// Pivots below this share of their diagonal entries are rounding.
const PIVOT: f64 = 1e-18;
/// The share that is added to the diagonal of the factor where there are uniform rows, which are
/// added to it afterwards: without them it may be singular.
const WITHOUT_SPREAD: f64 = 1e-9;
/// Steps of conjugate gradients with the diagonal where there is no factor: it limits the time of
/// one solution.
const MOST_STEPS: usize = 1_500;
/// Right-hand sides in one step that a factor serves: predictor, corrector, the column of the sum,
/// and now and then one more.
const RIGHT_HAND_SIDES: f64 = 4.0;
/// Relative accuracy of solutions with a factor: near the end multipliers differ by more than
/// floating point has digits, and whatever a direction lacks is lost. Before a factor is needed
/// four digits will do. Where there is none it is the mean of the products, between two values.
const ACCURATE: f64 = 1e-13;
const BEFORE_A_FACTOR: f64 = 1e-4;
const WITHOUT_A_FACTOR: (f64, f64) = (1e-7, 1e-2);
/// Flows that a solution with a factor leaves open are small beside this share of what was asked,
/// times the mean of the products, between two values: in the end what a policy visits follows from
/// its flows, by a chain that may hardly mix.
const FLOW_LEFT: f64 = 1e-9;
const FLOW_BETWEEN: (f64, f64) = (1e-16, 1e-10);

/// Steps of conjugate gradients with a factor, which needs one or two.
const STEPS_WITH_FACTOR: usize = 10;
/// Solutions for one right-hand side, each for what those before lack of the flow.
const MOST_REFINEMENTS: usize = 3;

pub(super) struct Normal<'a> {
    part: &'a Occupancies,
    pub(super) system: FlowSystem<'a>,
    /// Whether there is a factor to be had, and whether it is in use; before that, the steps of
    /// conjugate gradients that cost less.
    can_factor: bool,
    uses_factor: bool,
    cg_iterations: usize,
    /// How well equations are to be solved: relative to the right-hand side, and the share of the
    /// flow that may be left open.
    accuracy: f64,
    flow_left: f64,
    /// Whether a free unknown of the border takes the place of one pair, so that with restarts,
    /// too, one potential has to be fixed; what it adds is then taken back in the border.
    scaled: bool,
}

impl<'a> Normal<'a> {
    pub(super) fn new(part: &'a Occupancies, scaled: bool) -> Self {
        let mdp = part.mdp();
        let mut system = FlowSystem::new(mdp, part.restart());
        let n = mdp.n_states();
        // a small matrix can be factored whatever its pattern, which need not be analysed before
        // that time has come
        let steps = if n <= DENSE.order {
            Some(steps_worth(mdp, (n as f64).powi(3) / 3.0))
        } else {
            system
                .analyse(DENSE.order)
                .filter(|_| system.work() <= DENSE.work)
        };
        if steps.is_none() {
            system.forget_pattern();
        }
        Normal {
            part,
            system,
            can_factor: steps.is_some(),
            uses_factor: false,
            cg_iterations: steps.map_or(MOST_STEPS, |steps| (steps / RIGHT_HAND_SIDES) as usize),
            accuracy: BEFORE_A_FACTOR,
            flow_left: FLOW_BETWEEN.0,
            scaled,
        }
    }

    /// Whether there is a factor to be had.
    pub(super) fn factors(&self) -> bool {
        self.can_factor
    }

    /// Takes new curvatures and weights, and the mean of the products; false where a block is not
    /// positive.
    pub(super) fn factor(&mut self, pair: &[f64], state: &[f64], weight: &[f64], mu: f64) -> bool {
        let blocks = &mut self.system.blocks;
        if !blocks.invert(self.part.xi(), pair, state, weight) {
            return false;
        }
        self.uses_factor |= self.can_factor && self.cg_iterations == 0;
        let sound = if self.uses_factor {
            self.factorize()
        } else {
            self.system.bound_diagonal();
            self.fix_potentials();
            self.system.diagonal.iter().all(|x| x.is_finite())
        };
        self.accuracy = match (self.uses_factor, self.can_factor) {
            (true, _) => ACCURATE,
            (_, true) => BEFORE_A_FACTOR,
            _ => mu.clamp(WITHOUT_A_FACTOR.0, WITHOUT_A_FACTOR.1),
        };
        self.flow_left = (FLOW_LEFT * mu).clamp(FLOW_BETWEEN.0, FLOW_BETWEEN.1);
        sound
    }

    /// Factors the matrix of the blocks at hand, from now on always.
    fn factorize(&mut self) -> bool {
        self.uses_factor = true;
        if self.system.analyse(DENSE.order).is_none() {
            return false;
        }
        self.system.assemble();
        self.fix_potentials();
        let uniform = self.part.mdp().kernel().has_spread();
        let share = if uniform { WITHOUT_SPREAD } else { 0.0 };
        self.system.factorize(|_, diagonal| share * diagonal, PIVOT)
    }

    /// Chooses the states with the largest diagonals: what rounding leaves of the sums is divided
    /// by them. With restarts it is the likeliest start: the free unknown is the scale of what
    /// starts there.
    fn fix_potentials(&mut self) {
        let FlowSystem {
            fixed, diagonal, ..
        } = &mut self.system;
        fixed.clear();
        let start = self.part.mdp().start();
        if self.part.restart() > 0.0 {
            if self.scaled {
                let likeliest = (0..start.len()).max_by(|a, b| start[*a].total_cmp(&start[*b]));
                let likeliest = likeliest.map(|s| (s, diagonal[s]));
                fixed.extend(likeliest);
            }
        } else if self.can_factor {
            let mut largest = std::collections::BTreeMap::new();
            for (s, x) in diagonal.iter().enumerate() {
                let best = largest.entry(self.part.component()[s]).or_insert((s, *x));
                if *x > best.1 {
                    *best = (s, *x);
                }
            }
            fixed.extend(largest.into_values());
        }
    }

    /// The potential that the border has to set free again, and what was added to its diagonal.
    pub(super) fn to_set_free(&self) -> Option<(usize, f64)> {
        let free = self.part.restart() > 0.0;
        self.system.fixed.first().copied().filter(|_| free)
    }

    /// Potentials and the change of the occupancy for one right-hand side: $K x + A^\top v = G$,
    /// $A x = f$. Returns $v$ and $x$.
    pub(super) fn solve(
        &mut self,
        right: &[f64],
        flow: &[f64],
        driver: &mut Driver<'_>,
    ) -> (Vec<f64>, Vec<f64>) {
        let mut v = vec![0.0; flow.len()];
        let mut x = right.to_vec();
        self.system.blocks.divide(&mut x);
        let (mut lacks, mut columns) = (vec![0.0; flow.len()], vec![0.0; right.len()]);
        // weights range widely: with a factor at hand further solutions take back what rounding has
        // added to the flow, the first of them without asking how well it did
        let mut asked = 0.0;
        for refinement in 0..MOST_REFINEMENTS {
            self.system.rows(&x, &mut lacks);
            add(&mut lacks, -1.0, flow);
            self.system.add_fixed(&v, -1.0, &mut lacks);
            let left: f64 = lacks.iter().map(|x| x.abs()).sum();
            if left <= self.flow_left * asked {
                break;
            }
            if refinement == 0 {
                asked = left;
            }
            let mut change = lacks.clone();
            if refinement > 0 || !self.system.solve_factored(&mut change) {
                self.potentials(&lacks, &mut change, driver);
            }
            self.system.columns(&change, &mut columns);
            self.system.blocks.divide(&mut columns);
            add(&mut x, -1.0, &columns);
            add(&mut v, 1.0, &change);
            if !self.uses_factor {
                break;
            }
        }
        (v, x)
    }

    /// Solves $A K^{-1} A^\top v = b$; by a factor where the diagonal does not do.
    fn potentials(&mut self, right: &[f64], v: &mut [f64], driver: &mut Driver<'_>) {
        if self.uses_factor {
            self.iterate(right, v, STEPS_WITH_FACTOR, driver);
            return;
        }
        let solved = self.iterate(right, v, self.cg_iterations, driver);
        if !solved && self.can_factor && driver.should_continue() && self.factorize() {
            self.iterate(right, v, STEPS_WITH_FACTOR, driver);
        }
    }

    /// Returns whether it came as close as wanted.
    fn iterate(
        &mut self,
        right: &[f64],
        v: &mut [f64],
        most: usize,
        driver: &mut Driver<'_>,
    ) -> bool {
        let limits = (self.accuracy, most, usize::MAX);
        self.system
            .conjugate_gradients(right, v, limits, || driver.should_continue())
    }
}
