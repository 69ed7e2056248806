//! Places and ways between them: models for patrols.

use std::collections::BTreeMap;
use std::path::Path;

use super::{check_count, check_transitions, graph_file};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// Graphs with more places than this carry no action names beside those of the states.
const MOST_NAMED: usize = 10_000;

/// A graph of places with travel times.
///
/// A state is a place, an action the place to go to next (so an array of shape (S, A) is a matrix
/// from place to place), and every move succeeds. The time of a move is that of its edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Names of the places.
    pub places: Vec<String>,
    /// Travel time of every way, by its ends.
    pub ways: BTreeMap<(usize, usize), f64>,
    /// Whether the file gave travel times; otherwise all are one.
    pub timed: bool,
    /// Where to start; `None` is any place.
    pub start: Option<usize>,
}

/// How to read a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphOptions {
    /// The edge attribute of a GraphML file that is the travel time; by default `weight`, where
    /// there is one.
    pub weight: Option<String>,
    /// Whether edges go one way; by default what the GraphML file says, and both ways for an edge
    /// list.
    pub directed: Option<bool>,
    /// Name of the place to start from; by default any.
    pub start: Option<String>,
}

impl Graph {
    /// Reads GraphML (`.graphml`, `.xml`) or an edge list (any other name).
    ///
    /// An edge list has one edge per line, `from to` or `from to time`, separated by commas,
    /// semicolons, tabs or spaces; `#` begins a comment, and a first line whose third word is no
    /// number is a heading.
    pub fn read(path: &Path, options: &GraphOptions) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let edges = if extension == "graphml" || extension == "xml" {
            graph_file::graphml(&text, options.weight.as_deref())
        } else if let Some(weight) = &options.weight {
            Err(Error::Parameter {
                name: "weight".into(),
                value: weight.clone(),
                problem:
                    "an edge list has no named attributes: its third column is the travel time"
                        .into(),
            })
        } else {
            graph_file::edge_list(&text)
        };
        edges
            .and_then(|edges| Graph::from_edges(edges, options))
            .map_err(|error| error.in_file(path))
    }

    fn from_edges(edges: graph_file::Edges, options: &GraphOptions) -> Result<Self> {
        let directed = options.directed.unwrap_or(edges.directed);
        let start = match &options.start {
            None => None,
            Some(name) => Some(edges.places.iter().position(|p| p == name).ok_or_else(|| {
                let known: Vec<&str> = edges.places.iter().map(String::as_str).collect();
                Error::unknown("place", name, &known)
            })?),
        };
        let mut ways: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let timed = edges.list.iter().any(|edge| edge.time.is_some());
        for edge in &edges.list {
            let time = edge.time.unwrap_or(1.0);
            let mut add = |from: usize, to: usize| {
                // of several ways from here to there the quickest counts
                let way = ways.entry((from, to)).or_insert(time);
                *way = way.min(time);
            };
            add(edge.from, edge.to);
            if !directed {
                add(edge.to, edge.from);
            }
        }
        Ok(Graph {
            places: edges.places,
            ways,
            timed,
            start,
        })
    }

    /// Builds the model, with its travel times if there are any.
    pub fn build(&self) -> Result<Mdp> {
        let n = self.places.len();
        check_count("places", n, 1, u32::MAX as usize - 1)?;
        check_transitions("ways", &[self.ways.len()])?;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); n];
        for &(from, to) in self.ways.keys() {
            rows[from].push(to);
        }
        if let Some(place) = rows.iter().position(Vec::is_empty) {
            return Err(Error::Unsupported(format!(
                "no way leads on from place '{}'; add an edge, or one to itself if it can be stayed at",
                self.places[place]
            )));
        }
        let first_pair: Vec<usize> = std::iter::once(0)
            .chain(rows.iter().scan(0, |sum, row| {
                *sum += row.len();
                Some(*sum)
            }))
            .collect();
        let targets: Vec<u32> = rows.iter().flatten().map(|&to| to as u32).collect();
        let offsets: Vec<usize> = (0..=targets.len()).collect();
        let ones = vec![1.0; targets.len()];
        let mut mdp = Mdp::from_rows(n, &first_pair, &targets, &offsets, &targets, &ones)?
            .with_state_names(self.places.clone())?;
        if n <= MOST_NAMED {
            mdp = mdp.with_action_names(self.places.clone())?;
        }
        if self.timed {
            // in the order of the pairs, which is that of the map
            mdp = mdp.with_times(self.ways.values().copied().collect())?;
        }
        match self.start {
            Some(start) => mdp.with_start_state(start),
            None => Ok(mdp),
        }
    }
}
