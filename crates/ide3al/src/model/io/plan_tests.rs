//! Policies that depend on the step, through every format.

use super::tests::Folder;
use super::*;
use crate::model::{Plan, TimedPolicy};

/// Two actions in state 0, one in state 1, with a gap in the numbers.
fn model() -> Mdp {
    Mdp::from_triplets(2, 3, [(0, 0, 1, 1.0), (0, 2, 0, 1.0), (1, 1, 0, 1.0)]).unwrap()
}

#[test]
fn every_format_returns_the_same_tables() {
    let (mdp, folder) = (model(), Folder::new());
    let policy = TimedPolicy::new(&mdp, vec![0.25, 0.75, 1.0, 1.0, 0.0, 1.0]).unwrap();
    for name in ["p.json", "p.npz", "p.npy"] {
        let path = folder.path(name);
        write_timed_policy(&path, &mdp, &policy).unwrap();
        assert_eq!(
            read_plan(&path, &mdp).unwrap(),
            Plan::Timed(policy.clone()),
            "{name}"
        );
        let message = read_policy(&path, &mdp).unwrap_err().to_string();
        assert!(message.contains("each of 2 steps"), "{message}");
    }
}

#[test]
fn one_table_stays_one_table() {
    let (mdp, folder) = (model(), Folder::new());
    let policy = crate::model::Policy::uniform(&mdp);
    for name in ["q.json", "q.npz", "q.npy"] {
        let path = folder.path(name);
        write_plan(&path, &mdp, &Plan::Stationary(policy.clone())).unwrap();
        assert_eq!(
            read_plan(&path, &mdp).unwrap(),
            Plan::Stationary(policy.clone())
        );
    }
}

#[test]
fn wrong_tables_name_the_step() {
    let (mdp, folder) = (model(), Folder::new());
    let message = |text: &str| {
        let path = folder.path("bad.json");
        std::fs::write(&path, text).unwrap();
        read_plan(&path, &mdp).unwrap_err().to_string()
    };
    let short = message("[[[0.5, 0.5], [1]], [[0.5, 0.5]]]");
    assert!(
        short.contains("step 2") && short.contains("2 rows"),
        "{short}"
    );
    let uneven = message("[[[0.5, 0.5], [1]], [[0.5, 0.4], [1]]]");
    assert!(
        uneven.contains("state 0") && uneven.contains("in step 2"),
        "{uneven}"
    );
    let mixed = message("[[[0.5, 0.5], [1]], [0.5, 0.5]]");
    assert!(mixed.contains("numbers and lists are mixed"), "{mixed}");
    assert!(message("[[[0.5, [0.5]], [1]]]").contains("bad.json"));
}
