//! The studio, served from the interpreter's own process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ide3al_studio::{Opening, Studio, World};
use pyo3::prelude::*;

use crate::errors::{error, exception};
use crate::model::Model;

/// A running server.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Server {
    url: String,
    studio: Mutex<Option<Studio>>,
}

#[pymethods]
impl Server {
    /// Where the page is, token included.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Whether it still answers.
    #[getter]
    fn running(&self) -> bool {
        let studio = self.studio.lock();
        studio.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A file that leads a browser here, for this user's eyes only.
    fn redirect(&self) -> PyResult<PathBuf> {
        let mut studio = self.studio.lock().unwrap_or_else(PoisonError::into_inner);
        match studio.as_mut() {
            Some(studio) => studio.redirect(&self.url).map_err(exception),
            None => Err(error("the studio is closed")),
        }
    }

    /// Ends it.
    fn close(&self, py: Python<'_>) {
        let studio = self
            .studio
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        py.detach(|| drop(studio));
    }
}

/// Serves the studio with a model, or with a map to begin with.
#[pyfunction]
#[pyo3(signature = (model, port))]
pub(crate) fn serve(py: Python<'_>, model: Option<&Model>, port: u16) -> PyResult<Server> {
    let mut opening = Opening {
        port,
        ..Opening::default()
    };
    if let Some(model) = model {
        let name = model.spec.split(':').next().unwrap_or("");
        let known = ide3al::domains::list()
            .iter()
            .any(|domain| domain.name == name);
        // a domain by name has the defaults that the paper gives it, and a short link
        if known && ide3al::domains::load(&model.spec).is_ok_and(|mdp| mdp == *model.mdp) {
            opening.world = Some(World::domain(&model.spec));
        } else {
            let name = if model.spec.is_empty() {
                "model"
            } else {
                &model.spec
            };
            opening
                .models
                .push((name.to_owned(), Arc::clone(&model.mdp)));
            opening.world = Some(World::model(name));
        }
    }
    let studio = py.detach(|| Studio::start(opening)).map_err(exception)?;
    Ok(Server {
        url: studio.url(),
        studio: Mutex::new(Some(studio)),
    })
}
