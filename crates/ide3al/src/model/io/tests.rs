//! Round trips through every format.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::model::{Counts, Policy, Rewards, Unvisited};

/// A folder of its own for each test, removed afterwards.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ide3al-io-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Any small model: uneven actions, gaps in their numbers, names, starts, a layout.
fn any_model() -> impl Strategy<Value = Mdp> {
    let row = prop::collection::vec((0usize..6, 1e-9f64..1.0), 1..5);
    let state = prop::collection::btree_map(0usize..4, row, 1..4);
    let names = "[ -~äß\\n\\t\"\\\\]{0,8}";
    (
        prop::collection::vec(state, 1..6),
        prop::option::of(prop::collection::vec(0.0f64..1.0, 6)),
        any::<bool>(),
        prop::option::of(prop::collection::vec(names, 6)),
        prop::option::of(prop::collection::vec(names, 4..6)),
        any::<bool>(),
        prop::option::of(-1e3f64..1e3),
    )
        .prop_map(
            |(states, start, single, state_names, action_names, layout, reward)| {
                let n = states.len();
                let mut triplets = Vec::new();
                for (s, actions) in states.iter().enumerate() {
                    for (&a, row) in actions {
                        let sum: f64 = row.iter().map(|e| e.1).sum();
                        triplets.extend(row.iter().map(|&(t, p)| (s, a, t % n, p / sum)));
                    }
                }
                let mut mdp = Mdp::from_triplets(n, 4, triplets).unwrap();
                if let Some(mut start) = start {
                    start.truncate(n);
                    let sum: f64 = start.iter().sum();
                    mdp = if single || sum == 0.0 {
                        mdp.with_start_state(n - 1).unwrap()
                    } else {
                        mdp.with_start(start.iter().map(|p| p / sum).collect())
                            .unwrap()
                    };
                }
                if let Some(mut names) = state_names {
                    names.truncate(n);
                    mdp = mdp.with_state_names(names).unwrap();
                }
                if let Some(names) = action_names {
                    mdp = mdp.with_action_names(names).unwrap();
                }
                if layout {
                    let cells = (0..n).collect();
                    mdp = mdp.with_layout(checked_layout(2, 3, cells, n).unwrap());
                }
                if let Some(reward) = reward {
                    let each: Vec<f64> = (0..mdp.n_pairs()).map(|k| reward * k as f64).collect();
                    mdp = mdp.with_rewards(Rewards::Pairs(&each)).unwrap();
                    mdp = mdp.with_terminal(vec![n - 1]).unwrap();
                }
                mdp
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_format_returns_the_same_model(mdp in any_model()) {
        let folder = Folder::new();
        for name in ["model.json", "model.npz", "model.tra", "model.umb"] {
            let path = folder.path(name);
            write_model(&path, &mdp).unwrap();
            prop_assert_eq!(&read_model(&path).unwrap(), &mdp, "{}", name);
        }
    }

    #[test]
    fn dense_arrays_return_the_same_model(mdp in any_model()) {
        let folder = Folder::new();
        let path = folder.path("dense.npz");
        write_dense_model(&path, &mdp).unwrap();
        prop_assert_eq!(&read_model(&path).unwrap(), &mdp);
    }

    #[test]
    fn policies_return_the_same(mdp in any_model(), weights in prop::collection::vec(1e-6f64..1.0, 24)) {
        let folder = Folder::new();
        let mut numbers = Vec::new();
        for s in 0..mdp.n_states() {
            let row = &weights[..mdp.n_actions(s)];
            let sum: f64 = row.iter().sum();
            numbers.extend(row.iter().map(|w| w / sum));
        }
        let policy = Policy::new(&mdp, numbers).unwrap();
        for name in ["policy.json", "policy.npz", "policy.npy"] {
            let path = folder.path(name);
            write_policy(&path, &mdp, &policy).unwrap();
            prop_assert_eq!(&read_policy(&path, &mdp).unwrap(), &policy, "{}", name);
        }
    }

    #[test]
    fn damaged_archives_never_panic(mdp in any_model(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let folder = Folder::new();
        for name in ["model.npz", "model.umb"] {
            let path = folder.path(name);
            write_model(&path, &mdp).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            // of the empty blocks at the end of a tar archive one is enough
            let spare = if name == "model.umb" { 512 } else { 0 };
            let at = at.index(bytes.len() - spare);
            if cut { bytes.truncate(at) } else { bytes[at] ^= byte }
            std::fs::write(&path, &bytes).unwrap();
            // a flipped bit may hit something that does not matter, but a cut file is never whole
            let outcome = read_model(&path);
            prop_assert!(!cut || outcome.is_err());
        }
    }
}

#[test]
fn estimates_keep_their_uniform_rows() {
    let mut counts = Counts::new(&[2, 1, 1]);
    counts.record(0, 1, 0);
    counts.record(0, 1, 2);
    counts.record(2, 0, 1);
    let mdp = counts.estimate(Unvisited::Uniform, &[1.0, 0.0, 0.0]);
    let folder = Folder::new();
    for name in ["model.json", "model.npz"] {
        let path = folder.path(name);
        write_model(&path, &mdp).unwrap();
        assert_eq!(read_model(&path).unwrap(), mdp, "{name}");
    }
    // these have no way to say it: the rows are written out
    for name in ["model.tra", "model.umb"] {
        let path = folder.path(name);
        write_model(&path, &mdp).unwrap();
        let filled = read_model(&path).unwrap();
        assert_eq!(filled.kernel().to_dense(), mdp.kernel().to_dense());
    }
}

#[test]
fn prism_and_storm_files_of_others() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path(name), text).unwrap();
    // as PRISM exports an MDP, with labels
    write(
        "prism.tra",
        "2 3 4\n0 0 0 0.5 stay\n0 0 1 1/2 stay\n0 1 1 1 go\n1 0 0 1 go\n",
    );
    write(
        "prism.lab",
        "0=\"init\" 1=\"deadlock\" 2=\"goal\"\n0: 0\n1: 2\n",
    );
    write("prism.sta", "(x,y)\n0:(0,1)\n1:(1,1)\n");
    let mdp = read_model(&folder.path("prism.tra")).unwrap();
    assert_eq!(mdp.actions(), [0, 1, 1]);
    assert_eq!(mdp.action_names().unwrap(), ["stay", "go"]);
    assert_eq!(mdp.start(), [1.0, 0.0]);
    assert_eq!(mdp.state_name(1), "x=1,y=1");
    // as Storm writes a chain
    write("storm.tra", "dtmc\n0 0 0.25\n0 1 0.75\n1 1 1\n");
    write("storm.lab", "#DECLARATION\ninit goal\n#END\n1 init\n");
    let chain = read_model(&folder.path("storm.tra")).unwrap();
    assert_eq!((chain.n_states(), chain.n_pairs()), (2, 2));
    assert_eq!(chain.start(), [0.0, 1.0]);
}

#[test]
fn rewards_beside_a_tra() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path(name), text).unwrap();
    let tra = "2 3 4\n0 0 0 0.5\n0 0 1 0.5\n0 1 1 1\n1 0 0 1\n";
    // PRISM: counts first, states and transitions add up
    write("prism.tra", tra);
    write("prism.srew", "# Reward structure\n2 1\n1 7\n");
    write("prism.trew", "2 3 2\n0 0 1 4\n0 1 1 3\n");
    let mdp = read_model(&folder.path("prism.tra")).unwrap();
    assert_eq!(mdp.rewards().unwrap(), [2.0, 3.0, 7.0]);
    // Storm: no counts
    write("storm.tra", &tra.replace("2 3 4", "mdp"));
    write("storm.rew", "0 1\n0 0 1 4\n");
    let mdp = read_model(&folder.path("storm.tra")).unwrap();
    assert_eq!(mdp.rewards().unwrap(), [3.0, 1.0, 0.0]);
    // a model without rewards takes those of an earlier one away
    write_model(
        &folder.path("prism.tra"),
        &Mdp::from_triplets(1, 1, [(0, 0, 0, 1.0)]).unwrap(),
    )
    .unwrap();
    assert_eq!(
        read_model(&folder.path("prism.tra")).unwrap().rewards(),
        None
    );
    let message = |text: &str| {
        write("storm.rew", text);
        read_model(&folder.path("storm.tra"))
            .unwrap_err()
            .to_string()
    };
    assert!(message("0 nan\n").contains("line 1: a reward"));
    assert!(message("0 0 1 4\n9 1\n").contains("line 2: the model has no state 9"));
    assert!(message("1 0 1 4\n").contains("no transition from state 1"));
    assert!(message("0 0 0 0 1\n").contains("neither"));
}

#[test]
fn prism_mistakes_name_the_line() {
    let folder = Folder::new();
    let message = |text: &str| {
        let path = folder.path("bad.tra");
        std::fs::write(&path, text).unwrap();
        read_model(&path).unwrap_err().to_string()
    };
    assert!(message("").contains("empty"));
    assert!(message("hello\n").contains("line 1"));
    assert!(message("1 1 2\n0 0 0 1\n").contains("says 2 transitions"));
    assert!(message("1 2 1\n0 0 0 1\n").contains("says 2 choices"));
    assert!(message("1 1 1\n0 0 5 1\n").contains("line 2: next state 5"));
    assert!(message("1 1 1\n0 0 0 one\n").contains("line 2: probability"));
    assert!(message("1 1 1\n0 0 0 nan\n").contains("NaN"));
    assert!(message("1 1 1\n0 0 0 0.5\n").contains("sum to 0.5"));
    assert!(message("1000000000000 1 1\n0 0 0 1\n").contains("state 1 has no action"));
    assert!(message("mdp\n4000000000 0 0 1\n").contains("state 0 has no action"));
}

#[test]
fn json_mistakes_name_the_place() {
    let folder = Folder::new();
    let message = |text: &str| {
        let path = folder.path("bad.json");
        std::fs::write(&path, text).unwrap();
        read_model(&path).unwrap_err().to_string()
    };
    assert!(message("{\"states\":1,\n\"actions\":1,,").contains("line 2"));
    assert!(message("{\"states\":1,\"strat\":0}").contains("did you mean 'start'"));
    assert!(message("{\"states\":1,\"states\":1}").contains("twice"));
    assert!(message("{\"states\":1,\"actions\":1}").contains("'transitions' is missing"));
    assert!(message("{\"states\":1,\"actions\":1,\"transitions\":[[0,0,0,NaN]]}").contains("NaN"));
    assert!(
        message("{\"states\":1,\"actions\":1,\"transitions\":[[0,0,0,-Infinity]]}")
            .contains("Infinity")
    );
    assert!(
        message("{\"states\":1,\"actions\":1,\"transitions\":[[0,0,3,1]]}")
            .contains("(transitions[0])")
    );
    assert!(
        message("{\"states\":4000000000,\"actions\":1,\"transitions\":[[0,0,0,1]]}")
            .contains("state 1 has no action")
    );
    assert!(
        message("{\"states\":1,\"actions\":1,\"transitions\":[[0,0,0,1]]").contains("truncated")
    );
    assert!(message("{\"states\":1,\"actions\":1,\"transitions\":[[0,0,0,1]],\"layout\":{\"rows\":9999999999,\"columns\":9999999999,\"cells\":[0]}}").contains("layout"));
}

#[test]
fn solver_output_is_a_policy_file() {
    let folder = Folder::new();
    let path = folder.path("solution.json");
    let mdp = crate::domains::load("river-swim").unwrap();
    let rows = ["[0.25,0.75]"; 6].join(",");
    let text = format!(
        "{{\"formulation\":\"dual\",\"gap\":null,\"policy\":[{rows}],\"bounds\":{{\"paper\":1}}}}"
    );
    std::fs::write(&path, text).unwrap();
    let policy = read_policy(&path, &mdp).unwrap();
    assert_eq!(policy.probabilities()[..2], [0.25, 0.75]);
}
