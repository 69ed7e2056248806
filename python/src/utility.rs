//! A utility of the user's own: a Python object with `value(omega)` and `gradient(omega)`.

use std::sync::Arc;

use ide3al::domains::default_parameters;
use ide3al::formulation::utility::Utility;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{error, exception};
use crate::model::Model;
use crate::signals::{Pending, Signals};
use crate::solving::{Settings, Solved, VisitSpec};

/// The object, asked with arrays of states and actions. What it raises waits in `pending`; the
/// function is no number from then on.
struct Function<'a> {
    object: Py<PyAny>,
    shape: [usize; 2],
    /// Place of each pair in the array.
    places: Vec<usize>,
    pending: &'a Pending,
}

impl<'a> Function<'a> {
    fn new(mdp: &Mdp, object: Py<PyAny>, pending: &'a Pending) -> Self {
        let labels = mdp.n_action_labels();
        let of = |s: usize| mdp.pairs(s).map(move |pair| (s, pair));
        let pairs = (0..mdp.n_states()).flat_map(of);
        Function {
            object,
            shape: [mdp.n_states(), labels],
            places: pairs
                .map(|(s, pair)| s * labels + mdp.actions()[pair] as usize)
                .collect(),
            pending,
        }
    }

    fn ask<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        omega: &[f64],
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut dense = vec![0.0; self.shape[0] * self.shape[1]];
        for (place, x) in self.places.iter().zip(omega) {
            dense[*place] = *x;
        }
        let array = PyArray1::from_vec(py, dense).reshape(self.shape)?;
        self.object.bind(py).call_method1(method, (array,))
    }

    fn read_gradient(&self, py: Python<'_>, omega: &[f64], out: &mut [f64]) -> PyResult<()> {
        let given = self.ask(py, "gradient", omega)?;
        let options = PyDict::new(py);
        options.set_item("dtype", "float64")?;
        let given =
            py.import("numpy")?
                .call_method("ascontiguousarray", (given,), Some(&options))?;
        let array: PyReadonlyArrayDyn<'_, f64> = given.extract()?;
        if array.shape() != self.shape {
            return Err(error(format!(
                "utility: gradient(omega) has the shape {:?}, not that of omega, {:?}: return one number per state and action",
                array.shape(),
                self.shape
            )));
        }
        let numbers = array.as_slice()?;
        for (out, place) in out.iter_mut().zip(&self.places) {
            *out = numbers[*place];
        }
        Ok(())
    }
}

impl Utility for Function<'_> {
    fn value(&self, omega: &[f64]) -> f64 {
        let asked = Python::attach(|py| self.ask(py, "value", omega)?.extract::<f64>());
        asked.unwrap_or_else(|raised| {
            self.pending.put(raised);
            f64::NAN
        })
    }

    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        let asked = Python::attach(|py| self.read_gradient(py, omega, out));
        if let Err(raised) = asked {
            self.pending.put(raised);
            out.fill(f64::NAN);
        }
    }
}

/// Maximises a concave function of what is visited.
#[pyfunction]
pub(crate) fn solve_utility(
    py: Python<'_>,
    model: &Model,
    utility: Py<PyAny>,
    xi: Option<f64>,
    settings: Settings,
    visit_spec: VisitSpec,
) -> PyResult<Solved> {
    let mdp = Arc::clone(&model.mdp);
    let problem = Problem {
        xi: xi.unwrap_or_else(|| default_parameters(&model.spec, &mdp).xi),
        ..Problem::new(Formulation::Own)
    };
    let options = settings.options()?;
    let visits = visit_spec.visits(&mdp)?;
    let pending = Pending::default();
    let function = Function::new(&mdp, utility, &pending);
    let mut signals = Signals::new();
    let solved = py.detach(|| {
        solve::solve_utility(&mdp, &function, problem.xi, &visits, &options, &mut signals)
    });
    if let Some(raised) = pending.take() {
        return Err(raised);
    }
    signals.finish()?;
    let solution = solved.map_err(exception)?;
    Ok(Solved::new(mdp, problem, solution))
}
