//! The reference instances: small models with optimal objectives from an independent stack.
#![allow(clippy::unwrap_used)]

use ide3al::model::Mdp;

/// A model with its settings and optima.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) mdp: Mdp,
    pub(crate) optima: Vec<serde_json::Value>,
}

/// Reads a file as `make_reference.py` writes it.
pub(crate) fn reference(file: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(format!("tests/data/{file}")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = cases.as_array().unwrap().iter();
    list.map(|case| {
        let triplets = case["transitions"].as_array().unwrap().iter().map(|e| {
            let index = |i: usize| e[i].as_u64().unwrap() as usize;
            (index(0), index(1), index(2), e[3].as_f64().unwrap())
        });
        let size = |key: &str| case[key].as_u64().unwrap() as usize;
        Case {
            name: case["name"].as_str().unwrap().to_owned(),
            mdp: Mdp::from_triplets(size("states"), size("actions"), triplets).unwrap(),
            optima: case["optima"].as_array().unwrap().clone(),
        }
    })
    .collect()
}
