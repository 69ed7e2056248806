//! The trade-off between even visits and fast mixing, along zeta.
#![allow(clippy::print_stdout)]

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::{Vary, sweep};
use ide3al::solve::Options;

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("single-chain")?;
    let problem = Problem::new(Formulation::Frobenius);
    let curve = sweep(&mdp, &problem, Vary::Zeta, 5, &Options::default(), &mut ())?;
    println!("  zeta  entropy  spectral gap");
    for point in &curve.points {
        println!(
            "{:6.3}  {:7.4}  {:12.4}",
            point.zeta.unwrap_or(1.0),
            point.entropy_normalized,
            point.spectral_gap
        );
    }
    Ok(())
}
