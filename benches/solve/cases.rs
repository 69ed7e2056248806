//! What is measured.

use ide3al::formulation::Formulation;

/// One solve.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) model: String,
    /// Group of cases that differ in size only.
    pub(crate) family: &'static str,
    pub(crate) formulation: Formulation,
    pub(crate) xi: f64,
    pub(crate) zeta: f64,
    /// Wanted gap: absolute, and as a share of the objective.
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
    /// Seconds.
    pub(crate) limit: f64,
    /// Solvers to compare with.
    pub(crate) peers: &'static [&'static str],
}

impl Case {
    pub(crate) fn name(&self) -> String {
        format!(
            "{} {} zeta {}",
            self.model,
            self.formulation.name(),
            self.zeta
        )
    }
}

const BOTH: &[&str] = &["cvxpy-clarabel", "cvxpy-highs"];
const CONIC: &[&str] = &["cvxpy-clarabel"];
const NONE: &[&str] = &[];

fn case(
    model: impl Into<String>,
    family: &'static str,
    formulation: Formulation,
    (xi, zeta): (f64, f64),
    (absolute, relative): (f64, f64),
    peers: &'static [&'static str],
) -> Case {
    Case {
        model: model.into(),
        family,
        formulation,
        xi,
        zeta,
        absolute,
        relative,
        limit: 600.0,
        peers,
    }
}

fn garnet(states: usize) -> String {
    format!("garnet:states={states},actions=4,branching=5,seed=1")
}

fn grid(side: usize) -> String {
    format!("open-grid:rows={side},columns={side},slip=0.1")
}

/// Everything, in the order of the table. `quick` leaves out what takes minutes.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    use Formulation::{ColumnSum, Dual, Frobenius, Infinity};
    let usual = (0.01, 1.0);
    let mut cases = Vec::new();
    for (model, states, dense) in [
        ("single-chain".into(), 10, BOTH),
        ("double-chain".into(), 20, BOTH),
        ("knight-quest".into(), 360, CONIC),
        (garnet(100), 100, BOTH),
        (grid(10), 100, BOTH),
    ] {
        let model: String = model;
        let per_state = (1e-6 * f64::from(states), 0.0);
        cases.push(case(&model, "", ColumnSum, usual, per_state, BOTH));
        cases.push(case(&model, "", Infinity, usual, (0.0, 1e-6), dense));
        cases.push(case(&model, "", Frobenius, usual, (0.0, 1e-6), CONIC));
        cases.push(case(&model, "", Dual, (0.0, 1.0), (1e-10, 0.0), CONIC));
    }
    cases.push(case(garnet(1000), "", ColumnSum, usual, (1e-3, 0.0), BOTH));
    cases.push(case(
        garnet(1000),
        "",
        Dual,
        (0.0, 1.0),
        (1e-10, 0.0),
        CONIC,
    ));
    let sizes: &[usize] = if quick {
        &[1_000, 10_000]
    } else {
        &[1_000, 10_000, 100_000]
    };
    for &states in sizes {
        let gap = (1e-6 * states as f64, 0.0);
        cases.push(case(
            garnet(states),
            "garnet, Column Sum",
            ColumnSum,
            usual,
            gap,
            NONE,
        ));
    }
    for &states in sizes {
        cases.push(case(
            garnet(states),
            "garnet, Dual",
            Dual,
            usual,
            (1e-8, 0.0),
            NONE,
        ));
    }
    for &states in sizes {
        cases.push(case(
            garnet(states),
            "garnet, Frobenius",
            Frobenius,
            usual,
            (0.0, 1e-3),
            NONE,
        ));
    }
    for &side in if quick {
        &[32, 100][..]
    } else {
        &[32, 100, 316][..]
    } {
        for (family, zeta) in [
            ("grid, Frobenius, zeta 1", 1.0),
            ("grid, Frobenius, zeta 0.5", 0.5),
        ] {
            cases.push(case(
                grid(side),
                family,
                Frobenius,
                (0.01, zeta),
                (0.0, 1e-3),
                NONE,
            ));
        }
        cases.push(case(
            grid(side),
            "grid, Infinity",
            Infinity,
            usual,
            (0.0, 1e-3),
            NONE,
        ));
        cases.push(case(
            grid(side),
            "grid, Dual",
            Dual,
            usual,
            (1e-8, 0.0),
            NONE,
        ));
    }
    for &states in sizes {
        cases.push(case(
            garnet(states),
            "garnet, Infinity",
            Infinity,
            usual,
            (0.0, 1e-3),
            NONE,
        ));
    }
    if !quick {
        let half = (0.01, 0.5);
        cases.push(case(
            garnet(100_000),
            "",
            Frobenius,
            half,
            (0.0, 1e-3),
            NONE,
        ));
        cases.push(case(
            garnet(1_000_000),
            "",
            ColumnSum,
            usual,
            (10.0, 0.0),
            NONE,
        ));
        cases.push(case(garnet(1_000_000), "", Dual, usual, (1e-8, 0.0), NONE));
    }
    cases
}
