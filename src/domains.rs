//! `ide3al domains`.

use ide3al::domains;
use ide3al_report::Table;

use crate::output;

/// List the built-in domains with their sizes and parameters
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut sized = Vec::new();
    for domain in domains::list() {
        let mdp = domains::load(domain.name)?;
        let sizes = (mdp.n_states(), mdp.max_actions(), mdp.kernel().nnz());
        sized.push((domain, sizes));
    }
    if arguments.json {
        let list: Vec<serde_json::Value> = sized
            .iter()
            .map(|(domain, (states, actions, transitions))| {
                let parameters: serde_json::Map<String, serde_json::Value> = domain
                    .parameters
                    .iter()
                    .map(|p| {
                        let number = p.default.parse::<serde_json::Number>();
                        let value = number.map_or_else(|_| p.default.clone().into(), Into::into);
                        (p.name.to_owned(), value)
                    })
                    .collect();
                serde_json::json!({
                    "name": domain.name,
                    "states": states,
                    "actions": actions,
                    "transitions": transitions,
                    "parameters": parameters,
                    "description": domain.description,
                })
            })
            .collect();
        return output::print_json(&format!("{}\n", serde_json::to_string_pretty(&list)?));
    }
    let header = [
        "domain",
        "states",
        "actions",
        "transitions",
        "parameters",
        "description",
    ];
    let mut table = Table::new(&header).rights(1..4);
    for (domain, (states, actions, transitions)) in &sized {
        let parameters: Vec<String> = domain
            .parameters
            .iter()
            .map(|p| format!("{}={}", p.name, p.default))
            .collect();
        table.row([
            domain.name.to_owned(),
            states.to_string(),
            actions.to_string(),
            transitions.to_string(),
            parameters.join(","),
            domain.description.to_owned(),
        ]);
    }
    let mut text = table.to_string();
    text.push_str(
        "\nParameters go after a colon, e.g. garnet:states=1000,seed=3. Also grid:FILE[,slip=P] \
         for a text map,\ngraph:FILE for places and ways, or a path to a model file (.json, .npz, .tra, .umb).\n",
    );
    output::print(&text)
}
