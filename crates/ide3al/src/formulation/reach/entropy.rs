//! The entropy of the steady state, and its gradient, for problems that ask for evenness.
//!
//! With $d$ the steady state up to a factor, $p = d / \sum d$ over the states, $\dot d = d \dot M
//! X$ as for the [mean hitting time](super::hitting) and $H = -\sum p \ln p$: $\partial H /
//! \partial d_j = -(\ln p_j + H) / \sum d$, so that $H$ changes by $d_s (X\, \partial H / \partial
//! d)_t$ with $M_{st}$.

use ide3al_numerics::selected_inverse::Factor;

use super::world::World;

/// Computes the entropy of the steady state of one policy after another.
#[derive(Debug, Clone)]
pub struct Evenness<'a> {
    world: &'a World,
    factor: Factor,
    apart: usize,
    ones: Vec<f64>,
    chain: Vec<f64>,
    entries: Vec<f64>,
    visits: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> Evenness<'a> {
    /// `apart`: a state that every policy in question visits in the long run.
    pub fn new(world: &'a World, apart: usize) -> Self {
        let (n, edges) = (world.size(), world.rows.len());
        Evenness {
            world,
            factor: Factor::new(&world.symbolic),
            apart,
            ones: vec![1.0; n],
            chain: vec![0.0; edges],
            entries: vec![0.0; edges],
            visits: vec![0.0; n],
            slopes: vec![0.0; n],
        }
    }

    /// The steady state of the policy that was judged last, up to a factor.
    pub fn visits(&self) -> &[f64] {
        &self.visits
    }

    /// $H$ in nats, and with `gradient` its derivatives by the policy's entries, times `scale` and
    /// added to what is there. Not a number where the state set apart is left for good.
    pub fn value(&mut self, policy: &[f64], gradient: Option<(&mut [f64], f64)>) -> f64 {
        let (world, r) = (self.world, self.apart as u32);
        self.chain.fill(0.0);
        for (k, &p) in policy.iter().enumerate() {
            for &(edge, share) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                self.chain[edge as usize] += p * share;
            }
        }
        for &(edge, p) in &world.fixed {
            self.chain[edge as usize] = p;
        }
        self.visits.fill(0.0);
        for (e, &p) in self.chain.iter().enumerate() {
            let (s, t) = (world.rows[e], world.columns[e]);
            self.entries[e] = if s == r || t == r { 0.0 } else { -p };
            if s == r && t != r {
                self.visits[t as usize] = p;
            }
        }
        let symbolic = &world.symbolic;
        if !self.factor.eliminate(symbolic, &self.entries, &self.ones) {
            return f64::NAN;
        }
        self.factor.solve_transposed(symbolic, &mut self.visits);
        self.visits[self.apart] = 1.0;
        let n = world.n_states();
        let total: f64 = self.visits[..n].iter().sum();
        let entropy = -self.visits[..n]
            .iter()
            .map(|d| {
                if *d > 0.0 {
                    d / total * (d / total).ln()
                } else {
                    0.0
                }
            })
            .sum::<f64>();
        if let Some((gradient, scale)) = gradient {
            for s in 0..world.size() {
                let d = self.visits[s];
                let counts = s < n && s != self.apart && d > 0.0;
                self.slopes[s] = if counts {
                    -((d / total).ln() + entropy) / total
                } else {
                    0.0
                };
            }
            self.factor.solve(symbolic, &mut self.slopes);
            for s in 0..n {
                for k in world.pairs(s) {
                    let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
                    let slope = entries
                        .iter()
                        .map(|(e, p)| p * self.slopes[world.columns[*e as usize] as usize]);
                    gradient[k] += scale * self.visits[s] * slope.sum::<f64>();
                }
            }
        }
        entropy
    }
}
