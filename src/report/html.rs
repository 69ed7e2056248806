//! A page in one file: no script, no request, light and dark, wide and narrow.

use super::escape::escape;
use super::palette::{Role, dark_rules};
use super::panels::{Entry, Key, Panels};
use std::fmt::Write;

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

    fn html(&self) -> String {
        let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table>");
        out.push_str("<thead><tr>");
        for (i, name) in self.header.iter().enumerate() {
            // A heading stands over numbers as they stand.
            let numeric = self
                .rows
                .iter()
                .any(|r| matches!(r.get(i), Some(Cell::Number(_))));
            let class = if numeric { " class=\"number\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(name));
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for cell in row {
                let _ = match cell {
                    Cell::Text(text) if text.chars().count() > 60 => {
                        write!(out, "<td class=\"prose\">{}</td>", escape(text))
                    }
                    Cell::Text(text) => write!(out, "<td>{}</td>", escape(text)),
                    Cell::Number(text) => write!(out, "<td class=\"number\">{}</td>", escape(text)),
                    Cell::Badge(text, tone) => {
                        let class = match tone {
                            Tone::Good => "badge good",
                            Tone::Mixed => "badge mixed",
                            Tone::Bad => "badge bad",
                            Tone::Neutral => "badge",
                        };
                        write!(
                            out,
                            "<td><span class=\"{class}\">{}</span></td>",
                            escape(text)
                        )
                    }
                    Cell::Key(role, name) => {
                        let entry = Entry {
                            name: name.clone(),
                            key: Key::Line {
                                role: *role,
                                band: false,
                                dashed: true,
                            },
                        };
                        write!(
                            out,
                            "<td><span class=\"key\">{}{}</span></td>",
                            entry.sample_svg(),
                            escape(name)
                        )
                    }
                };
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>\n");
        // Outside the frame: a caption must not scroll away sideways with a wide table.
        if !self.caption.is_empty() {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&self.caption));
        }
        out
    }
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
        let _ = writeln!(
            self.body,
            "<h2 id=\"section-{}\">{}</h2>",
            self.sections.len(),
            escape(heading)
        );
        self
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
        self
    }

    /// A list.
    pub fn list<T: AsRef<str>>(&mut self, items: &[T]) -> &mut Self {
        self.body.push_str("<ul>");
        for item in items {
            let _ = write!(self.body, "<li>{}</li>", escape(item.as_ref()));
        }
        self.body.push_str("</ul>\n");
        self
    }

    /// A command or other text in letters of one width.
    pub fn code(&mut self, text: &str) -> &mut Self {
        let _ = writeln!(self.body, "<pre><code>{}</code></pre>", escape(text));
        self
    }

    /// A table.
    pub fn table(&mut self, table: &Table) -> &mut Self {
        self.body.push_str(&table.html());
        self
    }

    /// Pictures with their legend and caption, side by side where there is room. `files` are
    /// links to the same pictures as files beside the page: name shown, relative path.
    pub fn pictures(&mut self, panels: &Panels, files: &[(&str, &str)]) -> &mut Self {
        self.body.push_str("<figure>");
        if !panels.title.is_empty() {
            let _ = write!(self.body, "<h3>{}</h3>", escape(&panels.title));
        }
        let legend = panels.legend();
        if !legend.is_empty() {
            self.body.push_str("<ul class=\"legend\">");
            for entry in legend {
                let sample = entry.sample_svg();
                let _ = write!(
                    self.body,
                    "<li class=\"key\">{sample}{}</li>",
                    escape(&entry.name)
                );
            }
            self.body.push_str("</ul>");
        }
        // Two or four look best in pairs.
        let pair = matches!(panels.panels.len(), 2 | 4);
        let class = if pair { "grid pair" } else { "grid" };
        let _ = write!(self.body, "<div class=\"{class}\">");
        for svg in panels.separate() {
            self.body.push_str(&svg);
            self.body.push('\n');
        }
        self.body.push_str("</div>");
        if !panels.caption.is_empty() || !files.is_empty() {
            let _ = write!(self.body, "<figcaption>{}", escape(&panels.caption));
            for (name, path) in files {
                let _ = write!(
                    self.body,
                    " <a href=\"{}\">{}</a>",
                    escape(&relative(path)),
                    escape(name)
                );
            }
            self.body.push_str("</figcaption>");
        }
        self.body.push_str("</figure>\n");
        self
    }

    /// A block that opens when asked for.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Page)) -> &mut Self {
        let _ = write!(self.body, "<details><summary>{}</summary>", escape(summary));
        fill(self);
        self.body.push_str("</details>\n");
        self
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
        let title = escape(&self.title);
        let lead = if self.lead.is_empty() {
            String::new()
        } else {
            format!("<p class=\"lead\">{}</p>\n", escape(&self.lead))
        };
        let mut contents = String::new();
        if self.contents {
            contents.push_str("<nav aria-label=\"Sections\">");
            for (i, name) in self.sections.iter().enumerate() {
                let _ = write!(
                    contents,
                    "<a href=\"#section-{}\">{}</a>",
                    i + 1,
                    escape(name)
                );
            }
            contents.push_str("</nav>\n");
        }
        // The policy allows the page's own styles and nothing else: were an escape ever
        // forgotten, a script would still not run.
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
             {lead}{contents}{body}<footer>ide3al {version}</footer>\n</main>\n</body>\n</html>\n",
            body = self.body,
            version = env!("CARGO_PKG_VERSION"),
        )
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
