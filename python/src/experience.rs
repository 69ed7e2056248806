//! Episodes as counts, and the plan for samples that are still missing.

use ide3al::learn::{Wanted, plan_samples};
use ide3al::model::Counts;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batches::record;
use crate::errors::{error, exception};

/// What was seen, whoever saw it.
#[pyclass(module = "ide3al._ide3al")]
pub(crate) struct Experience {
    counts: Counts,
    n_actions: usize,
}

#[pymethods]
impl Experience {
    #[new]
    fn new(n_states: usize, n_actions: usize) -> PyResult<Self> {
        if n_actions == 0 {
            return Err(exception(ide3al::Error::Empty));
        }
        Ok(Experience {
            counts: Counts::new(&vec![n_actions; n_states]),
            n_actions,
        })
    }

    /// Remembers steps, in rows as `agent_record` takes them; states beyond those known are added.
    fn record(
        &mut self,
        steps: PyReadonlyArray2<'_, i64>,
        starts: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        for &start in starts.as_array() {
            let start = self.known(start)?;
            self.counts.record_start(start);
        }
        for row in steps.as_array().rows() {
            let (from, next) = (self.known(row[0])?, self.known(row[2])?);
            record(&mut self.counts, from, row[1], next, row[3])?;
        }
        Ok(())
    }

    #[getter]
    fn n_states(&self) -> usize {
        self.counts.n_states()
    }

    /// A policy for `wanted` further samples, one number per pair (or per state), and what is
    /// proven of it: fewest steps, steps planned, status of the solve.
    fn plan<'py>(
        &self,
        py: Python<'py>,
        wanted: PyReadonlyArray1<'py, f64>,
        of_states: bool,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
        let of = if of_states {
            Wanted::States
        } else {
            Wanted::Pairs
        };
        let wanted = wanted.as_array().to_vec();
        let mut signals = crate::signals::Signals::new();
        let planned = py.detach(|| {
            plan_samples(&self.counts, &wanted, of, |model, wanted| {
                crate::planning::coverage(model, wanted, &mut signals)
            })
        });
        signals.finish()?;
        let planned = planned.map_err(exception)?;
        let said = PyDict::new(py);
        said.set_item("least", planned.least)?;
        said.set_item("planned", planned.planned)?;
        said.set_item("status", planned.certificate.status.name())?;
        said.set_item("seconds", planned.certificate.seconds)?;
        let rows = planned.policy.probabilities().to_vec();
        Ok((rows.into_pyarray(py), said))
    }
}

impl Experience {
    fn known(&mut self, state: i64) -> PyResult<usize> {
        let found = usize::try_from(state).ok();
        let s = found
            .filter(|s| *s < u32::MAX as usize)
            .ok_or_else(|| error(format!("state {state} is out of range")))?;
        while self.counts.n_states() <= s {
            self.counts.add_state(self.n_actions);
        }
        Ok(s)
    }
}
