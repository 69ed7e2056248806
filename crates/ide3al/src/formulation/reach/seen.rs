//! The share seen within a random time, and its gradient.
//!
//! With $a = \mu G$, $u_j = w_j / G_{jj}$ and $v_j = w_j a_j / G_{jj}^2$ the derivative along a
//! change $\dot B$ of the discounted transitions $B = g M$ is, since $\dot G = G \dot B G$,
//!
//! $$\sum_j \frac{w_j (a \dot B G)_j}{G_{jj}} - \frac{w_j a_j (G \dot B G)_{jj}}{G_{jj}^2}
//! = \sum_{s,t} \dot B_{st} \big[ a_s (G u)_t - (G \operatorname{diag}(v)\, G)_{ts} \big] ,$$
//!
//! which is needed only where $M$ may have entries: the selected inverse and its derivative.

use ide3al_numerics::selected_inverse::Factor;

use super::world::World;

/// Computes the share seen of one policy after another, in the same memory.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    world: &'a World,
    factor: Factor,
    discounts: Vec<f64>,
    ones: Vec<f64>,
    entries: Vec<f64>,
    inverse: Vec<f64>,
    arrivals: Vec<f64>,
    later: Vec<f64>,
    v: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> Seen<'a> {
    /// For the policies of a world.
    pub fn new(world: &'a World) -> Self {
        let (n, edges) = (world.size(), world.rows.len());
        let mut seen = Seen {
            world,
            factor: Factor::new(&world.symbolic),
            discounts: Vec::new(),
            ones: vec![1.0; n],
            entries: vec![0.0; edges],
            inverse: vec![0.0; n],
            arrivals: vec![0.0; n],
            later: vec![0.0; n],
            v: vec![0.0; n],
            slopes: vec![0.0; edges],
        };
        seen.set_time(world.within);
        seen
    }

    /// Judges by another mean time than the world's.
    pub fn set_time(&mut self, time: f64) {
        let world = self.world;
        let g = 1.0 - 1.0 / time;
        self.discounts.clear();
        let times = world.time.iter();
        let of = |t: &f64| if world.has_times { g.powf(*t) } else { g };
        self.discounts.extend(times.map(of));
    }

    /// The share that a policy sees. With `gradient`, its derivatives by the policy's entries.
    pub fn value(&mut self, policy: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let world = self.world;
        self.entries.fill(0.0);
        for (k, &p) in policy.iter().enumerate() {
            let weight = p * self.discounts[k];
            if weight > 0.0 {
                for &(edge, share) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                    self.entries[edge as usize] -= weight * share;
                }
            }
        }
        for &(edge, p) in &world.fixed {
            self.entries[edge as usize] = -p;
        }
        let symbolic = &world.symbolic;
        if !self.factor.eliminate(symbolic, &self.entries, &self.ones) {
            return f64::NAN;
        }
        self.factor.invert(symbolic, &mut self.inverse);
        self.arrivals.copy_from_slice(&world.origin);
        self.factor.solve_transposed(symbolic, &mut self.arrivals);
        let mut value = 0.0;
        for (j, &w) in world.weights.iter().enumerate() {
            let u = w / self.inverse[j];
            self.later[j] = u;
            self.v[j] = u * self.arrivals[j] / self.inverse[j];
            value += u * self.arrivals[j];
        }
        let Some(gradient) = gradient else {
            return value;
        };
        self.factor.solve(symbolic, &mut self.later);
        self.factor.derivative(symbolic, &self.v, &mut self.slopes);
        for (e, slope) in self.slopes.iter_mut().enumerate() {
            let (s, t) = (world.rows[e] as usize, world.columns[e] as usize);
            *slope = self.arrivals[s] * self.later[t] - *slope;
        }
        for (k, out) in gradient.iter_mut().enumerate() {
            let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
            let slope = entries.iter().map(|(e, p)| p * self.slopes[*e as usize]);
            *out = self.discounts[k] * slope.sum::<f64>();
        }
        value
    }

    /// $E\, g^{\tau_j}$ of the policy that was judged last.
    pub fn share_of(&self, state: usize) -> f64 {
        self.arrivals[state] / self.inverse[state]
    }
}
