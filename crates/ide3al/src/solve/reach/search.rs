//! Which local optimum: several starts, and random changes of the best.
//!
//! Half of the starts first solve for a longer time, where the objective is smoother, and go over
//! to the time asked for in two steps; the other half do not, because in models with transitions
//! that cannot be undone a longer time can fix an order of visits that is worse for the shorter
//! one. After each part the worse half is given up. Then iterated local search (Lourenço, Martin
//! and Stützle, 2003) improves the best: a *perturbation* draws its rows around a random state
//! anew, and the policy after some steps is kept if it is better. An earlier solution takes the
//! place of all starts.

use std::sync::Mutex;

use ide3al_numerics::parallel::share;
use ide3al_numerics::projected_lbfgs::Minimiser;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::driver::{Candidate, Driver};
use super::NAME;
use super::descent::{RowObjective, descent, draw_row, normalise, rows_of};
use crate::formulation::reach::world::World;

const SEED: u64 = 0x005e_ec4e;
/// Starts of each kind, and the steps taken in each part. With 8, 16, 24 and 32 of them, 64
/// perturbations (the first) or 128 and 8 seeds the best order of visits in mazes of 54 states is
/// found in three of four, 14, 15 and all of 16 searches; Four Rooms takes 0.3, 0.4, 0.4 and 0.4 s.
const STARTS: usize = 32;
const STEPS: [usize; 3] = [12, 24, 48];
/// Steps of the last descents, and of those after a perturbation.
const LAST_STEPS: usize = 400;
const PERTURBED_STEPS: usize = 30;
/// Relative gains per step below which a descent ends: before the last part, and in it.
const ROUGH: f64 = 1e-5;
const FINE: f64 = 1e-11;
/// Radii of the neighbourhoods that are drawn anew, in turn.
const RADII: [usize; 4] = [1, 2, 4, 8];
/// Perturbations tried at once from the same policy, however many threads there are.
const PERTURBED_AT_ONCE: usize = 4;
/// Perturbations without a relative gain of `WORTHWHILE` after which the search ends.
const PATIENCE: usize = 128;
/// The same after a start from an earlier solution, which has had its own.
const PATIENCE_WARM: usize = 8;
const WORTHWHILE: f64 = 1e-4;
/// Weight of the uniform row that a row is mixed with before it is improved again, so that no
/// action is ruled out: at the start of a part, and before a perturbation.
const MIXING: f64 = 1e-2;
const MIXING_PERTURBED: f64 = 1e-3;
/// Work of the whole search, work between two looks at the clock, and the least that an evaluation
/// counts for; in multiplications of an elimination.
const TOTAL_WORK: u64 = 20_000_000_000;
const WORK_PER_CLOCK_CHECK: u64 = 1_000_000;
const LEAST_WORK: u64 = 5_000;
/// Most evaluations of a search, fewest even of the largest model, and the number below which there
/// is one start only.
const MOST_EVALUATIONS: usize = 12_000;
const FEWEST_EVALUATIONS: usize = 160;
const ONE_START_BELOW: usize = 1_200;

/// Leaves the best policy found with the driver.
pub(super) fn run(world: &World, begin: Begin<'_>, driver: &mut Driver<'_>) {
    let unit = world.symbolic.work().max(LEAST_WORK);
    let budget = ((TOTAL_WORK / unit) as usize).clamp(FEWEST_EVALUATIONS, MOST_EVALUATIONS);
    let mut search = Search {
        world,
        driver,
        objectives: Mutex::new(Vec::new()),
        rng: ChaCha8Rng::seed_from_u64(SEED),
        portion: (WORK_PER_CLOCK_CHECK / unit).max(1) as usize,
        budget,
        left: budget,
    };
    search.all(begin);
}

/// Where a search begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begin<'a> {
    /// At random.
    Cold,
    /// With the policy of another problem on the same model.
    Near(&'a [f64]),
    /// With an earlier solution, which has been improved at random before.
    Warm(&'a [f64]),
}

struct Search<'a, 'w, 'd> {
    world: &'w World,
    driver: &'a mut Driver<'d>,
    /// Memory for evaluations, shared by whoever needs it.
    objectives: Mutex<Vec<RowObjective<'w>>>,
    rng: ChaCha8Rng,
    /// Evaluations between two looks at the clock.
    portion: usize,
    /// Evaluations that there is time for, and those that are left.
    budget: usize,
    left: usize,
}

impl Search<'_, '_, '_> {
    fn all(&mut self, begin: Begin<'_>) {
        let mut last: Vec<Minimiser> = Vec::new();
        let mut kinds = Vec::new();
        match begin {
            Begin::Cold => kinds = self.kinds(),
            Begin::Near(policy) | Begin::Warm(policy) => {
                let rows = rows_of(self.world, policy, MIXING);
                last.push(descent(self.world, rows, LAST_STEPS, ROUGH));
            }
        }
        for times in kinds {
            let Some(rows) = self.best_start(times) else {
                return;
            };
            last.push(descent(self.world, rows, LAST_STEPS, ROUGH));
        }
        if !self.finish(&mut last, None) {
            return;
        }
        let best = last.iter().min_by(|a, b| a.value().total_cmp(&b.value()));
        let Some(best) = best.map(|m| m.x().to_vec()) else {
            return;
        };
        let patience = match begin {
            Begin::Warm(_) => PATIENCE_WARM,
            _ => PATIENCE,
        };
        if let Some(best) = self.perturb(best, patience) {
            self.finish(&mut [descent(self.world, best, LAST_STEPS, FINE)], None);
        }
    }

    /// The times of the parts of each kind of starts, `None` being what is asked for: both kinds,
    /// unless the model is so large that there is time for one only.
    fn kinds(&self) -> Vec<[Option<f64>; 3]> {
        if self.few() {
            return vec![[None; 3]];
        }
        let other = if self.world.is_hitting() {
            let time = self.world.natural_time();
            [time, 4.0 * time]
        } else {
            [16.0 * self.world.within, 4.0 * self.world.within]
        };
        vec![[Some(other[0]), Some(other[1]), None], [None; 3]]
    }

    /// Whether there is no time for many starts.
    fn few(&self) -> bool {
        self.budget < ONE_START_BELOW
    }

    /// The best of several starts after all parts; `None` where the solve is to stop.
    fn best_start(&mut self, times: [Option<f64>; 3]) -> Option<Vec<f64>> {
        let starts = if self.few() { 1 } else { STARTS };
        let mut rows: Vec<Vec<f64>> = (0..starts)
            .map(|_| {
                let mut x = vec![0.0; self.world.pair.len()];
                for s in 0..self.world.n_states() {
                    draw_row(&mut x[self.world.pairs(s)], &mut self.rng);
                }
                x
            })
            .collect();
        for (part, (&time, &steps)) in times.iter().zip(&STEPS).enumerate() {
            let moved = part > 0 && time != times[part - 1];
            let mut descents: Vec<Minimiser> = rows
                .iter()
                .map(|x| {
                    descent(
                        self.world,
                        self.mixed_with_uniform(x, if moved { MIXING } else { 0.0 }),
                        steps,
                        ROUGH,
                    )
                })
                .collect();
            if !self.finish(&mut descents, time) {
                return None;
            }
            // values that are no number come last
            descents.sort_by(|a, b| a.value().total_cmp(&b.value()));
            let half = (descents.len() / 2).max(1);
            rows = descents[..half].iter().map(|m| m.x().to_vec()).collect();
        }
        rows.into_iter().next()
    }

    fn mixed_with_uniform(&self, x: &[f64], even: f64) -> Vec<f64> {
        let mut policy = vec![0.0; x.len()];
        normalise(self.world, x, &mut policy);
        rows_of(self.world, &policy, even)
    }

    /// Descends until all have finished; false where the solve is to stop.
    fn finish(&mut self, descents: &mut [Minimiser], time: Option<f64>) -> bool {
        loop {
            let before: usize = descents.iter().map(Minimiser::evaluations).sum();
            let (world, objectives, portion) = (self.world, &self.objectives, self.portion);
            share(descents.iter_mut(), |descent| {
                let kept = objectives.lock().ok().and_then(|mut kept| kept.pop());
                let mut objective = kept.unwrap_or_else(|| RowObjective::new(world));
                objective.set_objective(time);
                descent.advance(&mut objective, portion);
                if let Ok(mut kept) = objectives.lock() {
                    kept.push(objective);
                }
            });
            let after: usize = descents.iter().map(Minimiser::evaluations).sum();
            self.left = self.left.saturating_sub(after - before);
            self.driver.count(after - before);
            let alive = self.driver.steps_left() > 0 && self.driver.should_continue();
            // what minimised something else is judged when nothing better will come
            if time.is_none() || !alive {
                descents
                    .iter()
                    .for_each(|descent| self.offer(descent, time));
            }
            if !alive || self.driver.done() {
                return false;
            }
            if descents.iter().all(Minimiser::is_finished) {
                return true;
            }
        }
    }

    fn offer(&mut self, descent: &Minimiser, time: Option<f64>) {
        let hitting = self.world.is_hitting();
        let mut value = if hitting {
            descent.value()
        } else {
            -descent.value()
        };
        if time.is_some()
            && let Some(objective) = self.objectives.lock().ok().and_then(|mut kept| kept.pop())
        {
            let mut objective = objective;
            value = objective.value_of(descent.x());
        }
        let best = self.driver.best().objective;
        let better = if hitting { value < best } else { value > best };
        if better {
            let kept = self.objectives.lock().ok().and_then(|mut kept| kept.pop());
            let mut objective = kept.unwrap_or_else(|| RowObjective::new(self.world));
            let Some(policy) = objective.policy(descent.x()).map(<[f64]>::to_vec) else {
                return;
            };
            let candidate = Candidate {
                policy,
                objective: value,
                bound: self.driver.best().bound,
                dual: Vec::new(),
            };
            self.driver.offer(candidate, NAME);
        }
    }

    /// Changes a policy at random as long as that pays; `None` where the solve is to stop.
    fn perturb(&mut self, mut best: Vec<f64>, patience: usize) -> Option<Vec<f64>> {
        let neighbours = Neighbours::new(self.world);
        let mut value = f64::INFINITY;
        let (mut idle, mut turn) = (0, 0);
        while idle < patience && self.left > 0 {
            let mut descents: Vec<Minimiser> = (0..PERTURBED_AT_ONCE)
                .map(|_| {
                    let mut x = self.mixed_with_uniform(&best, MIXING_PERTURBED);
                    let centre = self.rng.random_range(0..self.world.n_states());
                    for s in neighbours.within(centre, RADII[turn % RADII.len()]) {
                        draw_row(&mut x[self.world.pairs(s)], &mut self.rng);
                    }
                    turn += 1;
                    descent(self.world, x, PERTURBED_STEPS, ROUGH)
                })
                .collect();
            if value.is_infinite() {
                // what there is to be improved on
                descents.push(descent(self.world, best.clone(), 0, ROUGH));
            }
            if !self.finish(&mut descents, None) {
                return None;
            }
            idle += PERTURBED_AT_ONCE;
            for descent in &descents {
                if descent.value() < value {
                    if descent.value() < value - WORTHWHILE * value.abs() {
                        idle = 0;
                    }
                    value = descent.value();
                    best = descent.x().to_vec();
                }
            }
        }
        Some(best)
    }
}

/// Who is near to whom, whichever way the transitions go.
struct Neighbours {
    lists: Vec<Vec<u32>>,
}

impl Neighbours {
    fn new(world: &World) -> Self {
        let n = world.n_states();
        let mut lists = vec![Vec::new(); n];
        for (&s, &t) in world.rows.iter().zip(&world.columns) {
            if (s as usize) < n && (t as usize) < n && s != t {
                lists[s as usize].push(t);
                lists[t as usize].push(s);
            }
        }
        Neighbours { lists }
    }

    fn within(&self, centre: usize, radius: usize) -> Vec<usize> {
        let mut met = vec![false; self.lists.len()];
        met[centre] = true;
        let (mut all, mut rim) = (vec![centre], vec![centre]);
        for _ in 0..radius {
            let mut next = Vec::new();
            for s in rim {
                for &t in &self.lists[s] {
                    if !met[t as usize] {
                        met[t as usize] = true;
                        next.push(t as usize);
                    }
                }
            }
            all.extend_from_slice(&next);
            rim = next;
        }
        all
    }
}
