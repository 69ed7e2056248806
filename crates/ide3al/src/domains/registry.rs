//! Domains by name.

use std::path::Path;

use super::arguments::Arguments;
use super::{
    DoubleChain, FourRooms, Garnet, Graph, GraphOptions, GridMap, KnightQuest, OpenGrid, RiverSwim,
    SingleChain,
};
use crate::error::{Error, Result};
use crate::model::{Mdp, io};

/// A parameter of a built-in domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name as typed.
    pub name: &'static str,
    /// Default value, as typed.
    pub default: String,
}

/// A built-in domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Name as typed.
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
    /// Parameters with their defaults.
    pub parameters: Vec<Parameter>,
}

/// What the registry knows of a domain. The defaults come from the domain's own struct, so
/// that none is written twice.
struct Entry {
    name: &'static str,
    description: &'static str,
    parameters: fn() -> Vec<(&'static str, String)>,
    build: fn(Arguments) -> Result<Mdp>,
}

/// Parses the fields of a domain's struct by name, refuses what is left over, builds it.
macro_rules! entry {
    ($name:literal, $description:literal, $domain:ident { $($field:ident),* }) => {
        Entry {
            name: $name,
            description: $description,
            parameters: || {
                let default = $domain::default();
                vec![$((stringify!($field), default.$field.to_string())),*]
            },
            build: |mut given| {
                let default = $domain::default();
                let domain = $domain {
                    $($field: given.take(stringify!($field), default.$field)?),*
                };
                given.finish()?;
                domain.build()
            },
        }
    };
}

const DOMAINS: &[Entry] = &[
    entry!(
        "single-chain",
        "one arm to climb, with a fall to the bottom",
        SingleChain { states, slip }
    ),
    entry!(
        "double-chain",
        "two arms to climb from a common centre",
        DoubleChain { states, slip }
    ),
    entry!(
        "river-swim",
        "hard upstream, easy downstream",
        RiverSwim { states }
    ),
    entry!(
        "knight-quest",
        "gold, a key or armour, a dragon, a princess",
        KnightQuest { rows, columns }
    ),
    entry!(
        "four-rooms",
        "four rooms joined by four doorways",
        FourRooms { slip }
    ),
    entry!(
        "open-grid",
        "an open rectangle of cells",
        OpenGrid {
            rows,
            columns,
            slip
        }
    ),
    entry!(
        "garnet",
        "a random sparse model of any size",
        Garnet {
            states,
            actions,
            branching,
            seed
        }
    ),
];

/// All built-in domains. `grid:FILE` and model files come on top.
pub fn list() -> Vec<Domain> {
    DOMAINS
        .iter()
        .map(|entry| Domain {
            name: entry.name,
            description: entry.description,
            parameters: (entry.parameters)()
                .into_iter()
                .map(|(name, default)| Parameter { name, default })
                .collect(),
        })
        .collect()
}

/// The model that a specification names: `name`, `name:key=value,...`, `grid:FILE` (with
/// `,slip=0.1` after the file if wanted, which overrides the map's own), or a model file.
///
/// An unknown domain or parameter is an error that suggests the nearest one.
pub fn load(spec: &str) -> Result<Mdp> {
    let spec = spec.trim();
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    if name == "grid" {
        return load_map(parameters);
    }
    if name == "graph" {
        return load_graph(parameters);
    }
    if let Some(entry) = DOMAINS.iter().find(|entry| entry.name == name) {
        return (entry.build)(Arguments::parse(name, parameters)?);
    }
    let path = Path::new(spec);
    if io::is_model_file(path) || path.components().count() > 1 || path.exists() {
        return io::read_model(path);
    }
    let mut known: Vec<&str> = DOMAINS.iter().map(|entry| entry.name).collect();
    known.extend(["grid", "graph"]);
    match Error::unknown("domain", name, &known) {
        Error::Unknown { what, name, hint } => Err(Error::Unknown {
            what,
            name,
            hint: format!("{hint} (or give a model file: .json, .npz, .tra or .umb)"),
        }),
        other => Err(other),
    }
}

/// A file, and the parameters behind it.
fn split_file<'a>(domain: &str, text: &'a str) -> Result<(&'a str, Arguments)> {
    // a comma may be part of the file's name: parameters begin where 'key=' follows one
    let split = text.match_indices(',').map(|(at, _)| at).find(|&at| {
        let key = text[at + 1..].split(['=', ',']).next().unwrap_or("");
        text[at + 1 + key.len()..].starts_with('=')
            && key
                .trim()
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '_')
    });
    let (file, parameters) = match split {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    if file.is_empty() {
        return Err(super::bad(
            domain,
            "''",
            format!("name a file: {domain}:FILE"),
        ));
    }
    Ok((file, Arguments::parse(domain, parameters)?))
}

/// `graph:FILE`, with `weight`, `directed`, `start` and `clock` (the model [by the
/// clock](Mdp::by_the_clock)) behind the file.
fn load_graph(text: &str) -> Result<Mdp> {
    let (file, mut given) = split_file("graph", text)?;
    let options = GraphOptions {
        weight: given.take_optional("weight")?,
        directed: given.take_flag("directed")?,
        start: given.take_optional("start")?,
    };
    let clock = given.take_flag("clock")?.unwrap_or(false);
    given.finish()?;
    let path = Path::new(file);
    let mdp = Graph::read(path, &options)?
        .build()
        .map_err(|error| error.in_file(path))?;
    if clock && mdp.times().is_none() {
        return Err(super::bad(
            "clock",
            "true",
            format!("{file} has no travel times; leave it out, or name them (weight=ATTRIBUTE)"),
        ));
    }
    Ok(if clock { mdp.by_the_clock() } else { mdp })
}

fn load_map(text: &str) -> Result<Mdp> {
    let (file, mut given) = split_file("grid", text)?;
    let slip = given.take_optional("slip")?;
    given.finish()?;
    let path = Path::new(file);
    let mut map = GridMap::read(path)?;
    if let Some(slip) = slip {
        map.slip = slip;
    }
    map.build().map_err(|error| error.in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_by_name() {
        assert_eq!(
            load("single-chain:states=20,slip=0.05").unwrap().n_states(),
            20
        );
        assert_eq!(
            load("knight-quest:rows=6, columns=6").unwrap().n_states(),
            840
        );
        let garnet = load("garnet:states=50,actions=3,branching=2,seed=9").unwrap();
        assert_eq!(garnet.kernel().nnz(), 300);
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_remedy() {
        let message = |spec: &str| load(spec).unwrap_err().to_string();
        assert!(message("duble-chain").contains("did you mean 'double-chain'"));
        assert!(message("garnet:stats=5").contains("did you mean 'states'"));
        assert!(message("river-swim:zzzzzzzz=5").contains("known: states"));
        assert!(message("garnet:states").contains("key=value"));
        assert!(message("garnet:states=many").contains("states = many"));
        assert!(message("garnet:states=-3").contains("whole number"));
        assert!(message("garnet:states=5,states=6").contains("twice"));
        assert!(message("single-chain:slip=NaN").contains("0 to 1"));
        assert!(message("garnet:states=3,branching=4").contains("between 1 and 3"));
        assert!(message("no-such.json").contains("no-such.json"));
        assert!(message("grid:no-such.txt,slip=0.1").contains("no-such.txt: cannot read"));
    }

    #[test]
    fn the_list_shows_the_defaults() {
        let domains = list();
        let garnet = domains.iter().find(|d| d.name == "garnet").unwrap();
        assert_eq!(garnet.parameters[2].name, "branching");
        assert_eq!(garnet.parameters[2].default, "5");
    }
}
