//! UMB: rewards, which are annotations of states, choices or branches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::umb::{Found, Members, Model, Type};

/// Rewards that we write, under this identifier.
pub(super) const OWN: &str = "reward";

/// Folder of all rewards.
pub(super) const FOLDER: &str = "annotations/rewards/";

/// One annotation of the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Annotation {
    pub(super) applies_to: Vec<String>,
    #[serde(rename = "type")]
    pub(super) kind: Type,
}

/// `annotations` of the index, as far as they matter here.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Annotations {
    #[serde(default)]
    rewards: BTreeMap<String, Annotation>,
}

/// The file of one annotation's values.
pub(super) fn values_file(id: &str, entity: &str) -> String {
    format!("{FOLDER}{id}/{entity}/values.bin")
}

impl Annotations {
    /// The expected reward of every choice: of the annotation with the first identifier whose
    /// numbers are doubles. What applies to states, choices and branches adds up.
    pub(super) fn of_choices(&self, members: &Members, model: &Model) -> Found<Option<Vec<f64>>> {
        let plain = |(_, a): &(&String, &Annotation)| {
            a.kind.kind == "double" && matches!(a.kind.size, None | Some(64))
        };
        let Some((id, annotation)) = self.rewards.iter().find(plain) else {
            return Ok(None);
        };
        let mut rewards = vec![0.0; model.branches.len() - 1];
        for entity in &annotation.applies_to {
            let count = match entity.as_str() {
                "states" => model.choices.len() - 1,
                "choices" => rewards.len(),
                "branches" => model.probabilities.len(),
                _ => continue,
            };
            // where the file is left out every value is zero
            let items = members.items::<8>(&values_file(id, entity), count as u64)?;
            let Some(items) = items else { continue };
            let value = |k: usize| f64::from_le_bytes(items[k]);
            for state in 0..model.choices.len() - 1 {
                for choice in model.choices[state]..model.choices[state + 1] {
                    rewards[choice] += match entity.as_str() {
                        "states" => value(state),
                        "choices" => value(choice),
                        _ => (model.branches[choice]..model.branches[choice + 1])
                            .map(|k| model.probabilities[k] * value(k))
                            .sum(),
                    };
                }
            }
        }
        Ok(Some(in_order_of_actions(model, rewards)))
    }
}

/// Numbers of choices, sorted by action within each state as the model's pairs are.
fn in_order_of_actions(model: &Model, mut numbers: Vec<f64>) -> Vec<f64> {
    if let Some(actions) = &model.actions {
        for w in model.choices.windows(2) {
            let mut sorted: Vec<_> = (w[0]..w[1]).map(|k| (actions[k], numbers[k])).collect();
            sorted.sort_by_key(|entry| entry.0);
            for (k, (_, number)) in (w[0]..).zip(sorted) {
                numbers[k] = number;
            }
        }
    }
    numbers
}
