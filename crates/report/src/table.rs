//! Short aligned tables for people.

use super::escape::plain;

/// A table with a header line; columns are as wide as their widest cell.
///
/// ```
/// use ide3al_report::Table;
/// let mut table = Table::new(&["state", "share"]).right(1);
/// table.row(["start", "0.5"]);
/// table.row(["goal", "12.25"]);
/// assert_eq!(table.to_string(), "state  share\nstart    0.5\ngoal   12.25\n");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles. Without any title the header line is left out.
    #[must_use]
    pub fn new(header: &[&str]) -> Self {
        Table {
            header: header.iter().map(|&h| h.to_owned()).collect(),
            right: vec![false; header.len()],
            rows: Vec::new(),
        }
    }

    /// Aligns a column to the right, as numbers want.
    #[must_use]
    pub fn right(mut self, column: usize) -> Self {
        if self.right.len() <= column {
            self.right.resize(column + 1, false);
        }
        self.right[column] = true;
        self
    }

    /// The same for several columns.
    #[must_use]
    pub fn rights(self, columns: std::ops::Range<usize>) -> Self {
        columns.fold(self, Table::right)
    }

    /// Adds a row. Control characters are replaced, so that names from files cannot steer
    /// the terminal.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let clean = cells.into_iter().map(|cell| plain(&cell.into()));
        self.rows.push(clean.collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        let width = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|c| lines().filter_map(|l| l.get(c)).map(width).max())
            .map(Option::unwrap_or_default)
            .collect();
        let titled = self.header.iter().any(|h| !h.is_empty());
        for line in lines().skip(usize::from(!titled)) {
            let mut text = String::new();
            for (c, cell) in line.iter().enumerate() {
                if c > 0 {
                    text.push_str("  ");
                }
                let padding = " ".repeat(widths[c] - width(cell));
                if self.right.get(c) == Some(&true) {
                    text.push_str(&padding);
                    text.push_str(cell);
                } else {
                    text.push_str(cell);
                    text.push_str(&padding);
                }
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A number with about `digits` significant digits, in scientific notation only where plain
/// digits would mislead.
pub fn number(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if (-4..digits as i32 + 3).contains(&magnitude) {
        let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.*e}", digits.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_defused() {
        let mut table = Table::new(&[]);
        table.row(["\u{1b}[31mred", "x"]);
        assert_eq!(table.to_string(), "\u{fffd}[31mred  x\n");
    }

    #[test]
    fn numbers() {
        assert_eq!(number(0.123_456, 4), "0.1235");
        assert_eq!(number(1.0, 4), "1.000");
        assert_eq!(number(1.5e-9, 3), "1.50e-9");
        assert_eq!(number(12_345.6, 3), "12346");
        assert_eq!(number(0.0, 3), "0");
    }
}
