//! The page, inside the binary.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::refusal::Refusal;

macro_rules! page {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("page/", $name)))),*]
    };
}

/// Every file of the page: name and text.
const FILES: &[(&str, &str)] = page![
    "index.html",
    "style.css",
    "icon.svg",
    "address.js",
    "api.js",
    "canvas.js",
    "chosen.js",
    "colours.js",
    "curve.js",
    "dom.js",
    "editor.js",
    "figures.js",
    "files.js",
    "graph.js",
    "grid.js",
    "history.js",
    "inspect.js",
    "learn.js",
    "main.js",
    "numbers.js",
    "pane.js",
    "player.js",
    "plot.js",
    "problem.js",
    "race.js",
    "scene.js",
    "sliders.js",
    "status.js",
    "studio.js",
    "toolbar.js",
    "transfer.js",
    "view.js",
    "worlds.js",
];

/// The page itself.
pub(super) async fn index() -> Response {
    send("index.html")
}

/// What it loads.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    send(&name)
}

fn send(name: &str) -> Response {
    let Some((name, text)) = FILES.iter().find(|(known, _)| *known == name) else {
        return Refusal::new(StatusCode::NOT_FOUND, "there is nothing here").into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    ([(header::CONTENT_TYPE, kind)], *text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that is imported but not inside would show on the page only.
    #[test]
    fn whatever_the_page_loads_is_inside() {
        let has = |name: &str| FILES.iter().any(|(known, _)| *known == name);
        let mut imports = 0;
        for (name, text) in FILES {
            for (at, _) in text.match_indices("from './") {
                let import = text[at + 8..].split('\'').next().unwrap();
                assert!(has(import), "{name} imports {import}");
                imports += 1;
            }
            assert!(!text.contains("innerHTML"), "{name}: names are text");
            assert!(text.lines().count() < 500, "{name}");
        }
        assert!(imports > 20);
        for name in ["style.css", "icon.svg", "main.js"] {
            assert!(has(name) && FILES[0].1.contains(name));
        }
    }
}
