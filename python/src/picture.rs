//! Heat maps for notebooks.

use ide3al_report::heat::HeatMap;
use ide3al_report::panels::{Panel, Panels};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::errors::error;
use crate::model::Model;

/// States of a model without a map stand side by side, this many in a row.
const ROW: usize = 40;

/// A number per state as SVG: on the model's map, or state by state where it has none.
#[pyfunction]
pub(crate) fn heat_map(
    model: &Model,
    values: PyReadonlyArray1<'_, f64>,
    title: &str,
    label: &str,
) -> PyResult<String> {
    let (mdp, values) = (&model.mdp, values.as_array().to_vec());
    if values.len() != mdp.n_states() {
        return Err(error(format!(
            "a heat map of {} numbers for {} states",
            values.len(),
            mdp.n_states()
        )));
    }
    let map = match mdp.layout() {
        Some(layout) => HeatMap::on_layout(title, label, layout, &values),
        None => HeatMap {
            title: title.to_owned(),
            label: format!(
                "{label}; states in order, {} per row",
                ROW.min(values.len())
            ),
            rows: values.len().div_ceil(ROW),
            columns: values.len().min(ROW),
            cells: values.into_iter().map(Some).collect(),
            range: None,
        },
    };
    let panels = Panels {
        title: String::new(),
        panels: vec![Panel::Heat(map)],
        columns: 1,
        caption: String::new(),
    };
    Ok(panels.svg())
}
