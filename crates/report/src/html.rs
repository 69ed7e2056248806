//! A page in one file: no script, no request, light and dark, wide and narrow. The templates escape
//! every text.

use std::fmt::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::escape::showable;
use super::palette::{Role, dark_rules};
use super::panels::{Entry, Key, Panels};

/// How a short verdict is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As hoped.
    Good,
    /// In part.
    Mixed,
    /// Not so.
    Bad,
    /// Neither.
    Neutral,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A formatted number, aligned to the right in digits of one width.
    Number(String),
    /// A short verdict.
    Badge(String, Tone),
    /// A name with the line it has in the pictures.
    Key(Role, String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

/// A table; rows may be shorter than the header.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Names of the columns, units included.
    pub header: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
    /// Below the table; may be empty.
    pub caption: String,
}

impl Table {
    /// With its header.
    pub fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Table {
            header: header.into_iter().map(Into::into).collect(),
            ..Table::default()
        }
    }

    /// Adds a row.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    fn html(&self) -> Markup {
        // a heading stands over numbers as they stand
        let numeric = |i: usize| {
            let mut rows = self.rows.iter();
            rows.any(|r| matches!(r.get(i), Some(Cell::Number(_))))
        };
        html! {
            div class="scroll" tabindex="0" {
                table {
                    thead {
                        tr {
                            @for (i, name) in self.header.iter().enumerate() {
                                th scope="col" class=[numeric(i).then_some("number")] { (name) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr { @for cell in row { (cell.html()) } }
                        }
                    }
                }
            }
            // outside the frame: a caption must not scroll away sideways with a wide table
            @if !self.caption.is_empty() { p class="note" { (self.caption) } }
            "\n"
        }
    }
}

impl Cell {
    fn html(&self) -> Markup {
        html! {
            @match self {
                Cell::Text(text) => {
                    td class=[(text.chars().count() > 60).then_some("prose")] { (text) }
                }
                Cell::Number(text) => { td class="number" { (text) } }
                Cell::Badge(text, tone) => {
                    @let class = match tone {
                        Tone::Good => "badge good",
                        Tone::Mixed => "badge mixed",
                        Tone::Bad => "badge bad",
                        Tone::Neutral => "badge",
                    };
                    td { span class=(class) { (text) } }
                }
                Cell::Key(role, name) => {
                    @let key = Key::Line { role: *role, band: false, dashed: true };
                    td { span class="key" { (sample(&Entry { name: name.clone(), key })) (name) } }
                }
            }
        }
    }
}

/// The line of a legend's entry, drawn.
fn sample(entry: &Entry) -> PreEscaped<String> {
    PreEscaped(entry.sample_svg())
}

/// A page under construction. All texts are plain: they are escaped here.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<String>,
    contents: bool,
    body: String,
}

impl Page {
    /// With its title.
    pub fn new(title: &str) -> Self {
        Page {
            title: title.to_owned(),
            lead: String::new(),
            sections: Vec::new(),
            contents: false,
            body: String::new(),
        }
    }

    /// One or two sentences below the title.
    pub fn lead(&mut self, text: &str) -> &mut Self {
        text.clone_into(&mut self.lead);
        self
    }

    /// Links to the sections below the lead.
    pub fn contents(&mut self) -> &mut Self {
        self.contents = true;
        self
    }

    /// Begins a section.
    pub fn section(&mut self, heading: &str) -> &mut Self {
        self.sections.push(heading.to_owned());
        let id = format!("section-{}", self.sections.len());
        self.add(html! { h2 id=(id) { (heading) } })
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.add(html! { p { (text) } })
    }

    /// A list.
    pub fn list<T: AsRef<str>>(&mut self, items: &[T]) -> &mut Self {
        self.add(html! { ul { @for item in items { li { (item.as_ref()) } } } })
    }

    /// A command or other text in letters of one width.
    pub fn code(&mut self, text: &str) -> &mut Self {
        self.add(html! { pre { code { (text) } } })
    }

    /// A table.
    pub fn table(&mut self, table: &Table) -> &mut Self {
        self.add(table.html())
    }

    fn add(&mut self, markup: Markup) -> &mut Self {
        self.body.push_str(&markup.0);
        self.body.push('\n');
        self
    }

    /// Pictures with their legend and caption, side by side where there is room. `files` are
    /// links to the same pictures as files beside the page: name shown, relative path.
    pub fn pictures(&mut self, panels: &Panels, files: &[(&str, &str)]) -> &mut Self {
        let legend = panels.legend();
        // two or four look best in pairs
        let pair = matches!(panels.panels.len(), 2 | 4);
        self.add(html! {
            figure {
                @if !panels.title.is_empty() { h3 { (panels.title) } }
                @if !legend.is_empty() {
                    ul class="legend" {
                        @for entry in &legend { li class="key" { (sample(entry)) (entry.name) } }
                    }
                }
                div class=(if pair { "grid pair" } else { "grid" }) {
                    @for svg in panels.separate() { (PreEscaped(svg)) "\n" }
                }
                @if !panels.caption.is_empty() || !files.is_empty() {
                    figcaption {
                        (panels.caption)
                        @for (name, path) in files { " " a href=(relative(path)) { (name) } }
                    }
                }
            }
        })
    }

    /// A block that opens when asked for.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Page)) -> &mut Self {
        let outside = std::mem::take(&mut self.body);
        fill(self);
        let inside = std::mem::replace(&mut self.body, outside);
        self.add(html! { details { summary { (summary) } (PreEscaped(inside)) } })
    }

    /// What was added so far, without the frame: to be stored and [put](Self::put) on another
    /// page later.
    pub(crate) fn fragment(&self) -> &str {
        &self.body
    }

    /// Puts a [fragment](Self::fragment) of another page here.
    pub(crate) fn put(&mut self, fragment: &str) -> &mut Self {
        self.body.push_str(fragment);
        self
    }

    /// The page's text.
    pub fn finish(&self) -> String {
        let style = include_str!("page.css").replace("/*dark*/", &dark_rules());
        // The policy allows the page's own styles and nothing else: were an escape ever
        // forgotten, a script would still not run.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="color-scheme" content="light dark";
                    link rel="icon" href="data:,";
                    title { (self.title) }
                    style { (PreEscaped(style)) }
                }
                body {
                    main {
                        h1 { (self.title) }
                        @if !self.lead.is_empty() { p class="lead" { (self.lead) } }
                        @if self.contents {
                            nav aria-label="Sections" {
                                @for (i, name) in self.sections.iter().enumerate() {
                                    a href=(format!("#section-{}", i + 1)) { (name) }
                                }
                            }
                        }
                        (PreEscaped(&self.body))
                        footer { "ide3al " (env!("CARGO_PKG_VERSION")) }
                    }
                }
            }
        };
        let mut text: String = page.0.chars().map(showable).collect();
        text.push('\n');
        text
    }
}

/// A path that stays one: no scheme, no host; everything unusual percent-encoded.
fn relative(path: &str) -> String {
    let mut out = String::from("./");
    for byte in path.trim_start_matches(['/', '\\', '.']).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                out.push(char::from(byte))
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\" onload='x'";

    fn page() -> String {
        let mut table = Table::new(["name", EVIL]);
        table.caption = EVIL.into();
        table.row([
            Cell::Key(Role::Ideal, EVIL.into()),
            Cell::Number("0.5".into()),
        ]);
        table.row([Cell::Badge(EVIL.into(), Tone::Good), EVIL.into()]);
        let mut page = Page::new(EVIL);
        page.lead(EVIL)
            .contents()
            .section(EVIL)
            .paragraph(EVIL)
            .list(&[EVIL])
            .code(EVIL);
        page.table(&table).details(EVIL, |inner| {
            inner.paragraph("inside");
        });
        let panels = Panels {
            title: EVIL.into(),
            panels: vec![],
            columns: 1,
            caption: EVIL.into(),
        };
        page.pictures(&panels, &[(EVIL, "javascript:alert(1)")]);
        page.finish()
    }

    /// The page's body happens to be well-formed XML, which makes it checkable.
    #[test]
    fn names_never_become_markup() {
        let html = page();
        let body = &html[html.find("<main>").unwrap()..html.find("</body>").unwrap()];
        let document = roxmltree::Document::parse(body).unwrap();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert!(!["script", "img"].contains(&node.tag_name().name()));
            assert!(node.attributes().all(|a| !a.name().starts_with("on")));
        }
        assert!(!html.contains("<script") && !html.contains("javascript:"));
        assert!(html.contains("href=\"./javascript%3Aalert%281%29\""));
        assert!(html.contains("<title>&lt;script&gt;"));
    }

    #[test]
    fn nothing_is_requested() {
        let html = page();
        let foreign = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http://") && !foreign.contains("https://"));
        assert!(!html.contains("url(") && !html.contains("@import") && !html.contains("<img"));
    }

    #[test]
    fn dark_rules_are_inside_the_dark_query() {
        let html = page();
        let query = html.find("@media (prefers-color-scheme:dark)").unwrap();
        assert!(html.find(".f-text{fill:").unwrap() > query);
        assert!(!html.contains("/*dark*/"));
    }

    #[test]
    fn links_stay_beside_the_page() {
        assert_eq!(relative("figures/a b.svg"), "./figures/a%20b.svg");
        assert_eq!(relative("//host/x"), "./host/x");
        assert_eq!(relative("../../etc/passwd"), "./etc/passwd");
    }
}
