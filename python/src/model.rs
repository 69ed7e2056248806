//! Models from and to arrays.

use std::path::PathBuf;
use std::sync::Arc;

use ide3al::model::{Layout, Mdp, Policy, io};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::{error, exception};
use crate::gymnasium;

/// A model, shared with whatever was computed from it. Never changes.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Model {
    pub(crate) mdp: Arc<Mdp>,
    /// What the model was loaded from; the defaults of xi and zeta depend on it.
    pub(crate) spec: String,
}

/// One sparse matrix in compressed rows.
type Rows<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
);

/// Four arrays: row offsets, next states, probabilities, uniform shares (empty where the
/// model has none).
type RowArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// A start distribution: one probability per state.
type Start<'py> = Option<PyReadonlyArray1<'py, f64>>;

impl Model {
    pub(crate) fn new(mdp: Mdp, spec: &str) -> Self {
        Model {
            mdp: Arc::new(mdp),
            spec: spec.to_owned(),
        }
    }

    fn started(mdp: Mdp, start: Start<'_>) -> PyResult<Self> {
        let mdp = match start {
            None => mdp,
            Some(start) => mdp
                .with_start(start.as_array().to_vec())
                .map_err(exception)?,
        };
        Ok(Model::new(mdp, ""))
    }

    /// A policy from one probability per pair.
    pub(crate) fn policy(&self, probabilities: PyReadonlyArray1<'_, f64>) -> PyResult<Policy> {
        Policy::new(&self.mdp, probabilities.as_array().to_vec()).map_err(exception)
    }
}

fn integers<'py>(
    py: Python<'py>,
    values: impl Iterator<Item = usize>,
) -> Bound<'py, PyArray1<i64>> {
    values
        .map(|v| v as i64)
        .collect::<Vec<_>>()
        .into_pyarray(py)
}

/// A slice of a contiguous array.
fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| error("an array is not contiguous; pass numpy.ascontiguousarray(...)"))
}

fn index(value: i64, what: &str) -> PyResult<usize> {
    usize::try_from(value).map_err(|_| error(format!("{what} {value} is negative")))
}

/// Compressed rows whose offsets have been checked, so that any row can be cut out.
struct Checked<'a> {
    offsets: Vec<usize>,
    indices: &'a [i64],
    values: &'a [f64],
}

impl<'a> Checked<'a> {
    fn new(rows: &'a Rows<'_>) -> PyResult<Self> {
        let (offsets, indices, values) = (slice(&rows.0)?, slice(&rows.1)?, slice(&rows.2)?);
        let offsets: Vec<usize> = offsets
            .iter()
            .map(|&o| index(o, "row offset"))
            .collect::<PyResult<_>>()?;
        if offsets.first() != Some(&0)
            || !offsets.is_sorted()
            || offsets.last() != Some(&indices.len())
            || indices.len() != values.len()
        {
            return Err(error(
                "the sparse matrix is damaged: indptr, indices and data do not fit together",
            ));
        }
        if let Some(bad) = indices.iter().find(|i| **i < 0) {
            return Err(error(format!("next state {bad} is negative")));
        }
        Ok(Checked {
            offsets,
            indices,
            values,
        })
    }

    fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Writes the entries of a row; whether it has any. Explicit zeros are no entries.
    fn write(&self, row: usize, out: &mut Vec<(usize, f64)>) -> bool {
        let range = self.offsets[row]..self.offsets[row + 1];
        let entries = self.indices[range.clone()].iter().zip(&self.values[range]);
        out.extend(
            entries
                .filter(|(_, p)| **p != 0.0)
                .map(|(&t, &p)| (t as usize, p)),
        );
        !out.is_empty()
    }
}

#[pymethods]
impl Model {
    /// From a dense array (S, A, S); a row of zeros is an action that the state lacks.
    #[staticmethod]
    fn from_dense(
        py: Python<'_>,
        array: PyReadonlyArray3<'_, f64>,
        start: Start<'_>,
    ) -> PyResult<Self> {
        let shape = array.shape();
        let (states, actions) = (shape[0], shape[1]);
        let values = array
            .as_slice()
            .map_err(|_| error("the array is not contiguous; pass numpy.ascontiguousarray(P)"))?;
        let mdp = py
            .detach(|| Mdp::from_dense(states, actions, values))
            .map_err(exception)?;
        Model::started(mdp, start)
    }

    /// From one sparse matrix of S * A rows (row s * A + a), or one of S rows per action.
    /// An empty row is an action that the state lacks.
    #[staticmethod]
    fn from_sparse(
        py: Python<'_>,
        n_states: usize,
        matrices: Vec<Rows<'_>>,
        start: Start<'_>,
    ) -> PyResult<Self> {
        let checked: Vec<Checked<'_>> =
            matrices.iter().map(Checked::new).collect::<PyResult<_>>()?;
        let one = match checked.as_slice() {
            [one] if n_states > 0 && one.n_rows() % n_states == 0 => Some(one),
            list if list.iter().all(|m| m.n_rows() == n_states) => None,
            _ => return Err(error("the matrices do not have one row per state")),
        };
        let n_actions = one.map_or(checked.len(), |m| m.n_rows() / n_states);
        let mdp = py
            .detach(|| {
                Mdp::from_fn(n_states, n_actions, |s, a, row| match one {
                    Some(matrix) => matrix.write(s * n_actions + a, row),
                    None => checked[a].write(s, row),
                })
            })
            .map_err(exception)?;
        Model::started(mdp, start)
    }

    /// From state-action pairs: pair `k` is action `actions[k]` of state `states[k]` and has
    /// row `k`. Pairs may come in any order.
    #[staticmethod]
    fn from_pairs(
        py: Python<'_>,
        n_states: usize,
        states: PyReadonlyArray1<'_, i64>,
        actions: PyReadonlyArray1<'_, i64>,
        rows: Rows<'_>,
        start: Start<'_>,
    ) -> PyResult<Self> {
        let (states, actions) = (slice(&states)?, slice(&actions)?);
        let checked = Checked::new(&rows)?;
        let n = checked.n_rows();
        if states.len() != n || actions.len() != n {
            return Err(error(format!(
                "state-action pairs: {n} rows, but {} state and {} action indices; give one of each per row",
                states.len(),
                actions.len()
            )));
        }
        let mut order = Vec::with_capacity(n);
        for (row, (&s, &a)) in states.iter().zip(actions).enumerate() {
            let (s, a) = (index(s, "state")?, index(a, "action")?);
            if s >= n_states {
                return Err(error(format!(
                    "state {s} is out of range: there are {n_states}, numbered from 0 (row {row})"
                )));
            }
            order.push((s, a, row));
        }
        order.sort_unstable();
        if let Some(twice) = order
            .windows(2)
            .find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1))
        {
            return Err(error(format!(
                "state {}, action {}: this pair has two rows, {} and {}; give each pair once",
                twice[0].0, twice[0].1, twice[0].2, twice[1].2
            )));
        }
        let n_actions = order.iter().map(|pair| pair.1 + 1).max().unwrap_or(0);
        let mut next = 0;
        let mdp = py
            .detach(|| {
                Mdp::from_fn(n_states, n_actions, |s, a, row| {
                    // asked in the very order of the sorted pairs
                    match order.get(next) {
                        Some(&(state, action, at)) if (state, action) == (s, a) => {
                            next += 1;
                            checked.write(at, row);
                            true
                        }
                        _ => false,
                    }
                })
            })
            .map_err(exception)?;
        Model::started(mdp, start)
    }

    /// From the arrays of [`rows`](Self::rows), uniform shares included: `first_pair[s]` is the
    /// first row of state `s`, `actions` says which action each row is.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        first_pair: PyReadonlyArray1<'_, i64>,
        actions: PyReadonlyArray1<'_, i64>,
        rows: Rows<'_>,
        spread: PyReadonlyArray1<'_, f64>,
        start: Start<'_>,
    ) -> PyResult<Self> {
        let checked = Checked::new(&rows)?;
        let first_pair: Vec<usize> = slice(&first_pair)?
            .iter()
            .map(|&k| index(k, "first pair"))
            .collect::<PyResult<_>>()?;
        let small = |values: &[i64], what: &str| -> PyResult<Vec<u32>> {
            let fits = |&v: &i64| {
                u32::try_from(v).map_err(|_| error(format!("{what} {v} is out of range")))
            };
            values.iter().map(fits).collect()
        };
        let actions = small(slice(&actions)?, "action")?;
        let indices = small(checked.indices, "next state")?;
        let spread = slice(&spread)?;
        let n_states = first_pair.len().saturating_sub(1);
        let mdp = py
            .detach(|| {
                Mdp::from_rows_and_spread(
                    n_states,
                    &first_pair,
                    &actions,
                    &checked.offsets,
                    &indices,
                    checked.values,
                    spread,
                )
            })
            .map_err(exception)?;
        Model::started(mdp, start)
    }

    /// From a transition table `P[s][a] = [(probability, next state, reward, terminated), ...]`.
    #[staticmethod]
    fn from_table(
        table: &Bound<'_, PyAny>,
        n_states: usize,
        n_actions: usize,
        start: PyReadonlyArray1<'_, f64>,
        reset: bool,
    ) -> PyResult<Self> {
        let start = start.as_array().to_vec();
        gymnasium::read(table, n_states, n_actions, start, reset).map(|mdp| Model::new(mdp, ""))
    }

    /// A built-in domain, a map or a file.
    #[staticmethod]
    fn domain(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let mdp = py
            .detach(|| ide3al::domains::load(spec))
            .map_err(exception)?;
        Ok(Model::new(mdp, spec))
    }

    /// Reads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let mdp = py.detach(|| io::read_model(&path)).map_err(exception)?;
        Ok(Model::new(mdp, ""))
    }

    /// Writes a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| io::write_model(&path, &self.mdp))
            .map_err(exception)
    }

    /// The same model with names.
    #[pyo3(signature = (states, actions, layout=None, spec=None))]
    fn named(
        &self,
        states: Option<Vec<String>>,
        actions: Option<Vec<String>>,
        layout: Option<(usize, usize, Vec<usize>)>,
        spec: Option<&str>,
    ) -> PyResult<Self> {
        let mut mdp = Mdp::clone(&self.mdp);
        if let Some(names) = states {
            mdp = mdp.with_state_names(names).map_err(exception)?;
        }
        if let Some(names) = actions {
            mdp = mdp.with_action_names(names).map_err(exception)?;
        }
        if let Some((rows, columns, cells)) = layout {
            let size = rows.saturating_mul(columns);
            if cells.len() != mdp.n_states() || cells.iter().any(|cell| *cell >= size) {
                return Err(error("layout: give every state one cell of the map"));
            }
            mdp = mdp.with_layout(Layout {
                rows,
                columns,
                cells,
            });
        }
        Ok(Model::new(mdp, spec.unwrap_or(&self.spec)))
    }

    #[getter]
    fn spec(&self) -> &str {
        &self.spec
    }

    #[getter]
    fn n_states(&self) -> usize {
        self.mdp.n_states()
    }

    #[getter]
    fn n_pairs(&self) -> usize {
        self.mdp.n_pairs()
    }

    #[getter]
    fn n_action_labels(&self) -> usize {
        self.mdp.n_action_labels()
    }

    #[getter]
    fn nnz(&self) -> usize {
        self.mdp.kernel().nnz()
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.mdp.start())
    }

    #[getter]
    fn first_pair<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        integers(py, self.mdp.first_pair().iter().copied())
    }

    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        integers(py, self.mdp.actions().iter().map(|&a| a as usize))
    }

    #[getter]
    fn state_names(&self) -> Option<Vec<String>> {
        self.mdp.state_names().map(<[String]>::to_vec)
    }

    #[getter]
    fn action_names(&self) -> Option<Vec<String>> {
        self.mdp.action_names().map(<[String]>::to_vec)
    }

    /// (rows, columns, cell of each state), if the model has a map.
    #[getter]
    fn layout(&self) -> Option<(usize, usize, Vec<usize>)> {
        self.mdp
            .layout()
            .map(|l| (l.rows, l.columns, l.cells.clone()))
    }

    /// Travel time of each pair, if the model has them.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.mdp
            .times()
            .map(|times| PyArray1::from_slice(py, times))
    }

    fn with_times(&self, times: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let mdp = (*self.mdp).clone();
        let mdp = mdp.with_times(times.as_array().to_vec());
        Ok(Model::new(mdp.map_err(exception)?, &self.spec))
    }

    fn by_the_clock(&self) -> Self {
        Model::new(self.mdp.by_the_clock(), "")
    }

    fn choices<'py>(
        &self,
        py: Python<'py>,
        policy: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let policy = self.policy(policy)?;
        let choices = self.mdp.choices(policy.probabilities());
        Ok(PyArray1::from_vec(py, choices))
    }

    fn rows<'py>(&self, py: Python<'py>) -> RowArrays<'py> {
        let kernel = self.mdp.kernel();
        (
            integers(py, kernel.offsets().iter().copied()),
            integers(py, kernel.indices().iter().map(|&t| t as usize)),
            PyArray1::from_slice(py, kernel.values()),
            PyArray1::from_slice(py, kernel.spread()),
        )
    }

    fn __eq__(&self, other: &Model) -> bool {
        self.mdp == other.mdp
    }
}

/// Name, description, and parameters with their defaults.
type Domain = (&'static str, &'static str, Vec<(&'static str, String)>);

/// The built-in domains.
#[pyfunction]
pub(crate) fn domains() -> Vec<Domain> {
    ide3al::domains::list()
        .into_iter()
        .map(|domain| {
            let parameters = domain.parameters.into_iter();
            (
                domain.name,
                domain.description,
                parameters.map(|p| (p.name, p.default)).collect(),
            )
        })
        .collect()
}
