//! Comma-separated values after RFC 4180: header first, quotes only where needed.

use std::fmt::Write;

/// A table on its way to a CSV file; every row must be as long as the header.
#[derive(Debug, Clone)]
pub struct Csv {
    columns: usize,
    filled: usize,
    text: String,
}

impl Csv {
    /// With its header.
    pub fn new<T: AsRef<str>>(header: &[T]) -> Self {
        let mut csv = Csv {
            columns: header.len(),
            filled: 0,
            text: String::new(),
        };
        for name in header {
            csv.text(name.as_ref());
        }
        csv
    }

    fn separate(&mut self) {
        if self.filled == self.columns {
            self.text.push('\n');
            self.filled = 0;
        }
        if self.filled > 0 {
            self.text.push(',');
        }
        self.filled += 1;
    }

    /// Appends a text field, quoted where it holds a comma, a quote or a line break.
    pub fn text(&mut self, field: &str) -> &mut Self {
        self.separate();
        if field.contains([',', '"', '\n', '\r']) || field != field.trim() {
            self.text.push('"');
            self.text.push_str(&field.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(field);
        }
        self
    }

    /// Appends a number with the fewest digits that read back as the same `f64`
    /// (`NaN`, `inf`, `-inf` where it is none).
    pub fn number(&mut self, value: f64) -> &mut Self {
        self.separate();
        // Display never uses an exponent, which is long-winded for tiny probabilities.
        let magnitude = value.abs();
        let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&magnitude);
        // Writing to a string cannot fail.
        let _ = if plain {
            write!(self.text, "{value}")
        } else {
            write!(self.text, "{value:e}")
        };
        self
    }

    /// Appends a whole number.
    pub fn integer(&mut self, value: u64) -> &mut Self {
        self.separate();
        let _ = write!(self.text, "{value}");
        self
    }

    /// Appends an empty field: no value.
    pub fn empty(&mut self) -> &mut Self {
        self.separate();
        self
    }

    /// The file's text. A row left short is filled up with empty fields.
    pub fn finish(mut self) -> String {
        while self.filled < self.columns {
            self.separate();
        }
        self.text.push('\n');
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_where_needed() {
        let mut csv = Csv::new(&["name", "value", "count"]);
        csv.text("plain").number(0.1).integer(3);
        csv.text("a,\"b\"\nc").number(1e-300).empty();
        csv.text(" padded").number(f64::NAN);
        assert_eq!(
            csv.finish(),
            "name,value,count\nplain,0.1,3\n\"a,\"\"b\"\"\nc\",1e-300,\n\" padded\",NaN,\n"
        );
    }

    #[test]
    fn numbers_read_back_exactly() {
        for value in [
            0.1 + 0.2,
            1.0 / 3.0,
            f64::MIN_POSITIVE,
            123_456_789.125,
            -0.0,
            5e-324,
            1e17,
        ] {
            let mut csv = Csv::new(&["x"]);
            csv.number(value);
            let text = csv.finish();
            let read: f64 = text.lines().nth(1).unwrap().parse().unwrap();
            assert_eq!(read.to_bits(), value.to_bits());
        }
    }
}
