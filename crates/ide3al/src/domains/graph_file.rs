//! GraphML and edge lists.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// One edge of a file.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Travel time, if the file gives one.
    pub(super) time: Option<f64>,
}

/// What a file says.
#[derive(Default)]
pub(super) struct Edges {
    pub(super) places: Vec<String>,
    pub(super) list: Vec<Edge>,
    pub(super) directed: bool,
    numbers: HashMap<String, usize>,
}

impl Edges {
    fn place(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.places.len();
        self.numbers.insert(name.to_owned(), number);
        self.places.push(name.to_owned());
        number
    }

    fn finish(self) -> Result<Self> {
        let untimed = self.list.iter().filter(|edge| edge.time.is_none()).count();
        if self.list.is_empty() {
            return Err(wrong("it has no edge"));
        }
        if untimed > 0 && untimed < self.list.len() {
            return Err(wrong(format!(
                "{untimed} of {} edges have no travel time; give one to all or to none",
                self.list.len()
            )));
        }
        Ok(self)
    }
}

fn wrong(problem: impl Into<String>) -> Error {
    Error::Unsupported(problem.into())
}

/// A positive number.
fn time(text: &str, place: &str) -> Result<f64> {
    let time = text.trim().parse::<f64>().ok();
    time.filter(|t| *t > 0.0 && t.is_finite()).ok_or_else(|| {
        wrong(format!(
            "{place}: travel time '{}' is not a positive number",
            text.trim()
        ))
    })
}

/// Lines `from to [time]`.
pub(super) fn edge_list(text: &str) -> Result<Edges> {
    let mut edges = Edges::default();
    let mut first = true;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        // names may hold spaces where something else separates
        let separator = [',', ';', '\t'].into_iter().find(|c| line.contains(*c));
        let words: Vec<&str> = match separator {
            Some(c) => line.split(c).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let place = format!("line {}", number + 1);
        let heading = first && words.len() == 3 && words[2].parse::<f64>().is_err();
        first = false;
        if heading {
            continue;
        }
        let (from, to, given) = match words.as_slice() {
            [from, to] => (from, to, None),
            [from, to, given] => (from, to, Some(given)),
            _ => {
                return Err(wrong(format!(
                    "{place}: {} words where 'from to' or 'from to time' is needed",
                    words.len()
                )));
            }
        };
        if from.is_empty() || to.is_empty() {
            return Err(wrong(format!("{place}: a place without a name")));
        }
        let time = given.map(|text| time(text, &place)).transpose()?;
        let (from, to) = (edges.place(from), edges.place(to));
        edges.list.push(Edge { from, to, time });
    }
    edges.finish()
}

/// The nodes and edges of the first graph of a GraphML document; `weight` names the attribute that
/// is the travel time.
pub(super) fn graphml(text: &str, weight: Option<&str>) -> Result<Edges> {
    let document = roxmltree::Document::parse(text)
        .map_err(|error| wrong(format!("not readable as GraphML: {error}")))?;
    let named = |name: &'static str| {
        document
            .descendants()
            .filter(move |node| node.tag_name().name() == name)
    };
    let graph = named("graph")
        .next()
        .ok_or_else(|| wrong("not GraphML: it has no <graph>"))?;
    let wanted = weight.unwrap_or("weight");
    let is_weight = |key: &roxmltree::Node<'_, '_>| {
        key.attribute("attr.name") == Some(wanted) && key.attribute("for") != Some("node")
    };
    let key = named("key").find(is_weight);
    if let (Some(weight), None) = (weight, key) {
        let known: Vec<&str> = named("key")
            .filter(|key| key.attribute("for") != Some("node"))
            .filter_map(|key| key.attribute("attr.name"))
            .collect();
        return Err(Error::unknown("edge attribute", weight, &known));
    }
    let key_id = key.and_then(|key| key.attribute("id"));
    let default = key
        .and_then(|key| key.children().find(|c| c.tag_name().name() == "default"))
        .and_then(|node| node.text());
    let mut edges = Edges {
        directed: graph.attribute("edgedefault") == Some("directed"),
        ..Edges::default()
    };
    let children = |name: &'static str| {
        graph
            .children()
            .filter(move |node| node.tag_name().name() == name)
    };
    for node in children("node") {
        let id = node
            .attribute("id")
            .ok_or_else(|| wrong("a <node> without an id"))?;
        edges.place(id);
    }
    for (count, edge) in children("edge").enumerate() {
        let line = document.text_pos_at(edge.range().start).row;
        let place = format!("line {line}, edge {}", count + 1);
        let end = |name: &str| {
            let id = edge
                .attribute(name)
                .ok_or_else(|| wrong(format!("{place}: no {name}")))?;
            let number = edges.numbers.get(id).copied();
            number
                .ok_or_else(|| wrong(format!("{place}: {name} '{id}' is not a node of the graph")))
        };
        let (from, to) = (end("source")?, end("target")?);
        let data = edge.children().find(|c| {
            key_id.is_some() && c.tag_name().name() == "data" && c.attribute("key") == key_id
        });
        let given = data.and_then(|data| data.text()).or(default);
        let time = given.map(|text| time(text, &place)).transpose()?;
        edges.list.push(Edge { from, to, time });
        // one way or both, edge by edge, is not something that all files agree on
        if edge
            .attribute("directed")
            .is_some_and(|d| (d == "true") != edges.directed)
        {
            return Err(wrong(format!(
                "{place}: goes {} way, unlike the graph; write all edges of one kind",
                if edges.directed { "either" } else { "one" }
            )));
        }
    }
    edges.finish()
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::super::graph::GraphOptions;
    use super::*;
    use crate::model::Mdp;

    const SQUARE: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d1" for="edge" attr.name="length" attr.type="double"><default>2.5</default></key>
  <graph edgedefault="undirected">
    <node id="a"/><node id="b"/><node id="c"/>
    <edge source="a" target="b"><data key="d0">3</data></edge>
    <edge source="b" target="c"><data key="d0">4</data><data key="d1">9</data></edge>
    <edge source="b" target="a"><data key="d0">2</data></edge>
  </graph>
</graphml>"#;

    fn built(name: &str, text: &str, options: &GraphOptions) -> Result<Mdp> {
        let file = format!("ide3al-graph-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::write(&path, text).unwrap();
        let mdp = Graph::read(&path, options).and_then(|graph| graph.build());
        std::fs::remove_file(&path).unwrap();
        mdp
    }

    #[test]
    fn both_formats_give_the_same_model() {
        let plain = GraphOptions::default();
        let xml = built("same.graphml", SQUARE, &plain).unwrap();
        let list = "from,to,time\na,b,3 # main road\nb,c,4\n\nb,a,2\n";
        assert_eq!(built("same.csv", list, &plain).unwrap(), xml);
        assert_eq!(xml.state_names().unwrap(), ["a", "b", "c"]);
        assert_eq!(xml.actions(), [1, 0, 2, 1]);
        // of two ways between a and b the quicker one
        assert_eq!(xml.times().unwrap(), [2.0, 2.0, 4.0, 4.0]);
        let other = GraphOptions {
            weight: Some("length".into()),
            start: Some("c".into()),
            ..plain
        };
        let xml = built("length.graphml", SQUARE, &other).unwrap();
        assert_eq!(xml.times().unwrap(), [2.5, 2.5, 9.0, 9.0]);
        assert_eq!(xml.start(), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn lists_without_times_and_one_way_streets() {
        let one_way = GraphOptions {
            directed: Some(true),
            ..GraphOptions::default()
        };
        let mdp = built("ring.txt", "New York\tOslo\nOslo\tNew York\n", &one_way).unwrap();
        assert_eq!(mdp.n_pairs(), 2);
        assert_eq!(mdp.state_name(0), "New York");
        assert_eq!(mdp.times(), None);
    }

    #[test]
    fn mistakes_are_named() {
        let plain = GraphOptions::default();
        let message = |name: &str, text: &str| built(name, text, &plain).unwrap_err().to_string();
        assert!(message("n.txt", "a b 1\nb a -3\n").contains("line 2: travel time '-3'"));
        assert!(message("z.txt", "a b 0\n").contains("'0' is not a positive number"));
        assert!(message("w.txt", "a b 1\n x y inf").contains("line 2"));
        assert!(message("s.txt", "a\n").contains("line 1: 1 words"));
        assert!(message("e.txt", "# nothing\n").contains("no edge"));
        assert!(message("m.txt", "a b 1\nb c\n").contains("1 of 2 edges have no travel time"));
        let one_way = GraphOptions {
            directed: Some(true),
            ..plain.clone()
        };
        let end = built("d.txt", "a b 1\n", &one_way).unwrap_err().to_string();
        assert!(end.contains("no way leads on from place 'b'"), "{end}");
        let start = GraphOptions {
            start: Some("bb".into()),
            ..plain.clone()
        };
        let unknown = built("u.txt", "a b 1\n", &start).unwrap_err().to_string();
        assert!(unknown.contains("did you mean 'b'"), "{unknown}");
        assert!(message("x.graphml", "<graphml>").contains("not readable as GraphML"));
        assert!(message("g.graphml", "<graphml/>").contains("no <graph>"));
        let stranger = SQUARE.replace("target=\"c\"", "target=\"q\"");
        assert!(message("q.graphml", &stranger).contains("line 8, edge 2: target 'q'"));
        let negative = SQUARE.replace(">4<", ">-4<");
        assert!(message("t.graphml", &negative).contains("line 8, edge 2: travel time '-4'"));
        let wrong = GraphOptions {
            weight: Some("lenght".into()),
            ..plain
        };
        let unknown = built("l.graphml", SQUARE, &wrong).unwrap_err().to_string();
        assert!(unknown.contains("did you mean 'length'"), "{unknown}");
    }
}
