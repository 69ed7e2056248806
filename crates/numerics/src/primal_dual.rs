//! Restarted primal-dual steps for saddle points with simple constraints.
//!
//! $$\min_{x \in X} \max_{y \in Y} \; L(x, y), \qquad L \text{ bilinear (affine in each)},$$
//!
//! where $X$ and $Y$ have projections in closed form. One primal-dual step
//!
//! $$x^+ = \Pi_X(x - \tfrac{\eta}{\omega} T \nabla_x L(y)), \qquad
//!   y^+ = \Pi_Y(y + \eta\,\omega\,\Sigma\, \nabla_y L(2x^+ - x))$$
//!
//! is a firmly non-expansive map $\mathcal T$ in a suitable norm when
//! $\eta \|\Sigma^{1/2} K T^{1/2}\| \le 1$. With one over the absolute row and column sums of $K$
//! as $\Sigma$ and $T$ the norm is at most one, and just one where changing the signs of rows and
//! columns leaves $K$ without a negative entry, as in Column Sum and Infinity. The iteration is
//! reflected Halpern, $z_{k+1} = \frac{k+1}{k+2} (2\mathcal T(z_k) - z_k) + \frac{1}{k+2} z_0$,
//! restarted at $\mathcal T(z_k)$ when the fixed-point residual has fallen enough, with the balance
//! $\omega$ between the two sides adjusted at restarts. On linear programs this converges linearly.
//!
//! References: Chambolle and Pock (2011); Pock and Chambolle (2011) for $T$ and $\Sigma$;
//! Lu and Yang (2024), *Restarted Halpern PDHG for linear programming*, for the restarts.

use super::parallel::{fold, map};

/// The step size $\eta$: the scales see to it that any up to one is safe.
const STEP: f64 = 0.998;

/// A saddle problem; gradients are affine in their argument. Projections are those in the norm of
/// the scales: entries that are projected together have the same scale.
pub trait SaddlePoint {
    /// $\nabla_x L$ at `y`.
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]);
    /// $\nabla_y L$ at `x`.
    fn dual_gradient(&self, x: &[f64], out: &mut [f64]);
    /// $\Pi_X$, in place.
    fn project_primal(&self, x: &mut [f64]);
    /// $\Pi_Y$, in place.
    fn project_dual(&self, y: &mut [f64]);
}

/// The vectors of $x$, or those of $y$.
pub struct Side {
    /// Last image $\mathcal T(z)$: feasible.
    pub point: Vec<f64>,
    /// $z$, and $z_0$.
    current: Vec<f64>,
    anchor: Vec<f64>,
    /// The gradient, and whatever takes its place once it is used.
    work: Vec<f64>,
    /// The diagonal of $T$, or $\Sigma$.
    scale: Vec<f64>,
}

impl Side {
    /// At the start, with the diagonal of $T$ or $\Sigma$: no more than one over the absolute sums
    /// of the columns, or rows, of $K$.
    pub fn new(start: Vec<f64>, scale: Vec<f64>) -> Self {
        Side {
            current: start.clone(),
            anchor: start.clone(),
            work: vec![0.0; start.len()],
            point: start,
            scale,
        }
    }

    /// Goes from $z$ along the scaled gradient, without projecting.
    fn go(&mut self, step: f64) {
        let inputs = [&self.current[..], &self.work, &self.scale];
        map(&mut self.point, inputs, |_, [z, g, t]| z + step * t * g);
    }

    /// The squared distance of the image from `other`, in the norm of $T^{-1}$ or $\Sigma^{-1}$.
    fn distance(&self, other: &[f64]) -> f64 {
        let square = |sum: f64, [x, y, t]: [f64; 3]| sum + (x - y) * (x - y) / t;
        fold([&self.point, other, &self.scale], 0.0, square, |a, b| a + b)
    }

    /// The $k$-th reflected Halpern step from $z$, whose image is at hand.
    fn reflect(&mut self, k: f64) {
        let (move_on, back) = (k / (k + 1.0), 1.0 / (k + 1.0));
        let inputs = [&self.point[..], &self.anchor];
        map(&mut self.current, inputs, |z, [image, first]| {
            move_on * (2.0 * image - z) + back * first
        });
    }

    /// Begins anew at the image.
    fn restart(&mut self) {
        self.current.copy_from_slice(&self.point);
        self.anchor.copy_from_slice(&self.point);
    }
}

/// The iteration's state. [`Iteration::advance`] makes one step.
pub struct Iteration {
    /// $x$.
    pub primal: Side,
    /// $y$.
    pub dual: Side,
    /// The balance $\omega$.
    weight: f64,
    since_restart: usize,
    total: usize,
    /// Fixed-point residuals: that of the first step since the restart, and the last one's.
    first_residual: f64,
    last_residual: f64,
    accumulated_error: f64,
}

impl Iteration {
    /// With the balance to begin with, which restarts adjust.
    pub fn new(primal: Side, dual: Side, weight: f64) -> Self {
        Iteration {
            primal,
            dual,
            weight,
            since_restart: 0,
            total: 0,
            first_residual: f64::INFINITY,
            last_residual: f64::INFINITY,
            accumulated_error: 0.0,
        }
    }

    /// One reflected Halpern step; restarts where due.
    pub fn advance(&mut self, problem: &impl SaddlePoint) {
        let (primal, dual) = (&mut self.primal, &mut self.dual);
        problem.primal_gradient(&dual.current, &mut primal.work);
        primal.go(-STEP / self.weight);
        problem.project_primal(&mut primal.point);
        let inputs = [&primal.point[..], &primal.current];
        map(&mut primal.work, inputs, |_, [new, old]| 2.0 * new - old);
        problem.dual_gradient(&primal.work, &mut dual.work);
        dual.go(STEP * self.weight);
        problem.project_dual(&mut dual.point);
        let (moved_x, moved_y) = (
            primal.distance(&primal.current),
            dual.distance(&dual.current),
        );
        let residual = (self.weight * moved_x + moved_y / self.weight).sqrt();
        self.total += 1;
        self.since_restart += 1;
        if self.since_restart == 1 {
            self.first_residual = residual;
        }
        let enough = residual <= 0.2 * self.first_residual;
        let turning = residual <= 0.8 * self.first_residual && residual > self.last_residual;
        let long = self.since_restart as f64 >= 0.36 * self.total as f64 && self.total > 50;
        self.last_residual = residual;
        if (enough || turning || long) && self.since_restart > 1 {
            self.restart();
        } else {
            let k = self.since_restart as f64;
            primal.reflect(k);
            dual.reflect(k);
        }
    }

    fn restart(&mut self) {
        // how far each side moved since the anchor decides the balance
        let moved_x = self.primal.distance(&self.primal.anchor).sqrt();
        let moved_y = self.dual.distance(&self.dual.anchor).sqrt();
        if moved_x > 1e-14 && moved_y > 1e-14 {
            let error = (moved_y / moved_x).ln() - self.weight.ln();
            self.accumulated_error += error;
            let change = 0.5 * error + 0.01 * self.accumulated_error;
            self.weight = (self.weight.ln() + change).exp().clamp(1e-6, 1e6);
        }
        self.primal.restart();
        self.dual.restart();
        self.since_restart = 0;
        self.last_residual = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, Numbers};

    /// $\min_x \max_y\; y^\top K x$ over simplexes: a matrix game. Stored row by row.
    struct Game {
        payoff: Vec<f64>,
        rows: usize,
        columns: usize,
    }

    /// The nearest point of the simplex, by trying every number of positive entries.
    fn project(x: &mut [f64]) {
        let mut sorted = x.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut sum = 0.0;
        let mut shift = 0.0;
        for (k, v) in sorted.iter().enumerate() {
            sum += v;
            let candidate = (sum - 1.0) / (k + 1) as f64;
            if *v > candidate {
                shift = candidate;
            }
        }
        x.iter_mut().for_each(|x| *x = (*x - shift).max(0.0));
    }

    impl SaddlePoint for Game {
        fn primal_gradient(&self, y: &[f64], out: &mut [f64]) {
            out.copy_from_slice(&oracle::transpose_times(&self.payoff, y, self.columns));
        }

        fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
            out.copy_from_slice(&oracle::times(&self.payoff, x));
        }

        fn project_primal(&self, x: &mut [f64]) {
            project(x);
        }

        fn project_dual(&self, y: &mut [f64]) {
            project(y);
        }
    }

    impl Game {
        fn new(payoff: Vec<f64>, rows: usize) -> Self {
            let columns = payoff.len() / rows;
            Game {
                payoff,
                rows,
                columns,
            }
        }

        /// One over the absolute sums of columns and rows, as all users of the method take them.
        fn scales(&self) -> (Vec<f64>, Vec<f64>) {
            let sizes: Vec<f64> = self.payoff.iter().map(|x| x.abs()).collect();
            let ones = vec![1.0; self.rows.max(self.columns)];
            let of_columns = oracle::transpose_times(&sizes, &ones[..self.rows], self.columns);
            let of_rows = oracle::times(&sizes, &ones[..self.columns]);
            let inverse = |sums: Vec<f64>| sums.iter().map(|x| 1.0 / x).collect();
            (inverse(of_columns), inverse(of_rows))
        }

        fn start(&self) -> Iteration {
            // a simplex is projected on as a whole, so all of it takes the same step
            let [tau, sigma] = <[Vec<f64>; 2]>::from(self.scales()).map(|scale| {
                let least = scale.iter().copied().fold(f64::INFINITY, f64::min);
                vec![least; scale.len()]
            });
            let even = |n: usize| vec![1.0 / n as f64; n];
            let mut x = even(self.columns);
            x[0] += 0.5;
            project(&mut x);
            Iteration::new(Side::new(x, tau), Side::new(even(self.rows), sigma), 0.5)
        }

        /// What the other side can make of each side's strategy: two bounds of the value.
        fn bounds(&self, iteration: &Iteration) -> (f64, f64) {
            let (x, y) = (&iteration.primal.point, &iteration.dual.point);
            let of_columns = oracle::transpose_times(&self.payoff, y, self.columns);
            let of_rows = oracle::times(&self.payoff, x);
            (
                of_columns.iter().copied().fold(f64::INFINITY, f64::min),
                of_rows.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            )
        }
    }

    /// Rock, paper, scissors has value 0; $[[a, b], [c, d]]$ without a saddle point
    /// $(ad - bc) / (a + d - b - c)$; matching pennies with sides of unequal worth $-1/12$.
    #[test]
    fn games_have_their_value() {
        let rps = Game::new(vec![0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0], 3);
        let morra = Game::new(vec![-2.0, 3.0, 3.0, -4.0], 2);
        let square = Game::new(vec![4.0, 1.0, 2.0, 3.0], 2);
        for (game, value) in [(rps, 0.0), (morra, 1.0 / 12.0), (square, 10.0 / 4.0)] {
            let mut iteration = game.start();
            for _ in 0..2_000 {
                iteration.advance(&game);
            }
            let (low, high) = game.bounds(&iteration);
            assert!(low <= value + 1e-12 && value <= high + 1e-12);
            assert!(high - low < 1e-9, "{low} {high} {value}");
        }
    }

    /// On random games of many strategies the two bounds meet: convergence is linear, so that nine
    /// digits take no more than a few times as long as three. Iterates are feasible throughout.
    #[test]
    fn bounds_of_random_games_meet() {
        let mut numbers = Numbers(11);
        for (rows, columns) in [(5, 8), (12, 7), (20, 20)] {
            let game = Game::new(numbers.signed(rows * columns), rows);
            let mut iteration = game.start();
            let (mut few, mut many) = (0, 0);
            for k in 1..=40_000 {
                iteration.advance(&game);
                let (low, high) = game.bounds(&iteration);
                for side in [&iteration.primal.point, &iteration.dual.point] {
                    assert!((side.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    assert!(side.iter().all(|x| *x >= 0.0));
                }
                if high - low < 1e-3 && few == 0 {
                    few = k;
                }
                if high - low < 1e-9 {
                    many = k;
                    break;
                }
            }
            assert!(many > 0 && many < 40 * few, "{few} {many}");
        }
    }

    /// With these scales the step is short enough for every matrix: its length times the norm of
    /// $\Sigma^{1/2} K T^{1/2}$ is below one, and as long as that for matrices without a sign.
    #[test]
    fn steps_are_never_too_long() {
        let mut numbers = Numbers(12);
        for case in 0..40 {
            let (rows, columns) = (1 + numbers.below(9), 1 + numbers.below(9));
            let mut payoff = numbers.signed(rows * columns);
            if case % 2 == 0 {
                payoff.iter_mut().for_each(|x| *x = x.abs());
            }
            let game = Game::new(payoff, rows);
            let (tau, sigma) = game.scales();
            let mut scaled = game.payoff.clone();
            for (k, x) in scaled.iter_mut().enumerate() {
                *x *= (tau[k % columns] * sigma[k / columns]).sqrt();
            }
            let norm = oracle::norm(oracle::dense(&scaled, columns).as_ref());
            assert!(STEP * norm < 1.0, "{norm}");
            assert!(case % 2 == 1 || norm > 1.0 - 1e-9, "{norm}");
        }
    }
}
