//! The models of the table "default settings": kinds that users have, from seeds that no solver
//! was tuned on, each known in full and half known.

use std::path::{Path, PathBuf};

use ide3al::learn::{Environment, Simulator, Tables};
use ide3al::model::{Counts, Mdp, Unvisited, io};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Where the transitions come from.
enum Source {
    Domain(String),
    /// A toy of Gymnasium, written by the peers' script.
    Toy(&'static str),
}

/// A model on disk, as both sides read it.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

/// States, actions and successors of the garnets, from small to large; then dense ones.
const GARNETS: [(usize, usize, usize); 15] = [
    (50, 2, 3),
    (60, 6, 2),
    (80, 4, 5),
    (100, 3, 8),
    (120, 5, 3),
    (150, 2, 5),
    (200, 3, 4),
    (250, 6, 4),
    (300, 4, 10),
    (400, 2, 2),
    (500, 5, 5),
    (700, 3, 3),
    (1000, 4, 5),
    // dense: every state follows every pair
    (100, 3, 100),
    (150, 2, 150),
];

/// Rows, columns and slip of the open grids.
const GRIDS: [(usize, usize, f64); 6] = [
    (7, 8, 0.0),
    (10, 10, 0.1),
    (12, 15, 0.25),
    (16, 16, 0.0),
    (20, 20, 0.1),
    (25, 40, 0.05),
];

const CHAINS: [&str; 6] = [
    "single-chain:states=15",
    "single-chain:states=50,slip=0.2",
    "single-chain:states=150",
    "double-chain:states=31",
    "double-chain:states=81,slip=0.05",
    "double-chain:states=201",
];

const TOYS: [&str; 4] = ["frozen-lake-4", "frozen-lake-8", "cliff-walking", "taxi"];

/// Models that are also met half known, by their place in the list of their kind, and steps of
/// the uniform policy that are known of each.
const HALF_KNOWN_GARNETS: [(usize, u64); 5] =
    [(1, 300), (3, 500), (5, 400), (6, 1_500), (8, 3_000)];
const HALF_KNOWN_GRIDS: [(usize, u64); 4] = [(0, 150), (1, 1_000), (2, 700), (4, 4_000)];
const HALF_KNOWN_CHAINS: [(usize, u64); 4] = [(0, 60), (1, 500), (3, 200), (5, 2_000)];
const HALF_KNOWN_TOYS: [(usize, u64); 4] = [(0, 60), (1, 500), (2, 500), (3, 3_000)];

fn sources(seed: u64) -> Vec<(Source, Option<u64>)> {
    let garnet = |i: usize| {
        let (states, actions, branching) = GARNETS[i];
        let seed = seed + i as u64;
        Source::Domain(format!(
            "garnet:states={states},actions={actions},branching={branching},seed={seed}"
        ))
    };
    let grid = |i: usize| {
        let (rows, columns, slip) = GRIDS[i];
        Source::Domain(format!(
            "open-grid:rows={rows},columns={columns},slip={slip}"
        ))
    };
    let chain = |i: usize| Source::Domain(CHAINS[i].to_owned());
    let toy = |i: usize| Source::Toy(TOYS[i]);
    let mut list = Vec::new();
    list.extend((0..GARNETS.len()).map(|i| (garnet(i), None)));
    list.extend((0..GRIDS.len()).map(|i| (grid(i), None)));
    list.extend((0..CHAINS.len()).map(|i| (chain(i), None)));
    list.extend((0..TOYS.len()).map(|i| (toy(i), None)));
    list.extend(HALF_KNOWN_GARNETS.map(|(i, steps)| (garnet(i), Some(steps))));
    list.extend(HALF_KNOWN_GRIDS.map(|(i, steps)| (grid(i), Some(steps))));
    list.extend(HALF_KNOWN_CHAINS.map(|(i, steps)| (chain(i), Some(steps))));
    list.extend(HALF_KNOWN_TOYS.map(|(i, steps)| (toy(i), Some(steps))));
    list
}

/// What so many steps of the uniform policy say of a model: frequencies where a pair was tried,
/// uniform where it was not.
fn half_known(mdp: &Mdp, steps: u64, seed: u64) -> ide3al::Result<Mdp> {
    let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
    let mut counts = Counts::new(&actions);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let tables = Tables::new(mdp);
    let mut simulator = Simulator::new(&tables);
    let mut state = simulator.reset(&mut rng)?;
    for _ in 0..steps {
        let action = (rng.next_u64() % actions[state] as u64) as usize;
        let next = simulator.step(action, &mut rng)?.next;
        counts.record(state, action, next);
        state = next;
    }
    Ok(counts.estimate(Unvisited::Uniform, mdp.start()))
}

/// Writes all models into a folder. One that cannot be had (no Gymnasium) is named on the
/// terminal and left out.
pub(crate) fn write(folder: &Path, seed: u64) -> Vec<Model> {
    let toys = crate::peers::python()
        .arg(crate::peers::script())
        .arg("--toys")
        .arg(folder)
        .status();
    if !toys.is_ok_and(|status| status.success()) {
        println!("the toy models of Gymnasium could not be written");
    }
    let mut models = Vec::new();
    for (i, (source, steps)) in sources(seed).into_iter().enumerate() {
        let (mut name, mdp) = match source {
            Source::Domain(spec) => (spec.clone(), ide3al::domains::load(&spec)),
            Source::Toy(toy) => {
                let file = folder.join(format!("{toy}.npz"));
                (toy.to_owned(), io::read_model(&file))
            }
        };
        let mdp = match steps {
            None => mdp,
            Some(steps) => {
                name += &format!(", {steps} steps known");
                mdp.and_then(|mdp| half_known(&mdp, steps, seed + i as u64))
            }
        };
        let file = folder.join(format!("model-{i}.npz"));
        match mdp.and_then(|mdp| io::write_model(&file, &mdp)) {
            Ok(_) => models.push(Model { name, file }),
            Err(error) => println!("left out: {name}: {error}"),
        }
    }
    models
}
