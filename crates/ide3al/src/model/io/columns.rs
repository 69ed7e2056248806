//! Plain numbers from JSON (a list, or a list of rows), CSV (commas or blanks, `#` begins a
//! comment) or NPY.

use std::io::Read;
use std::path::Path;

use super::npy::Header;
use super::{cannot_read, extension, malformed, open, unknown_format};
use crate::error::Result;

/// What is read.
const KNOWN: &str = ".json, .csv, .txt or .npy";

/// The numbers of a file, row by row.
pub fn read_numbers(path: &Path) -> Result<Vec<f64>> {
    let mut file = open(path)?;
    let kind = extension(path);
    if kind == "npy" {
        let bytes = file.metadata().map_err(|e| cannot_read(path, e))?.len();
        let mut reader = std::io::BufReader::new(file);
        let array = Header::read(&mut reader)
            .and_then(|header| header.read_floats(&mut reader, bytes))
            .map_err(|problem| malformed(path, format!("the array: {problem}")))?;
        if array.fortran && array.shape.len() > 1 {
            return Err(malformed(
                path,
                "it is stored column by column; save numpy.ascontiguousarray of it",
            ));
        }
        return Ok(array.data);
    }
    if !["json", "csv", "txt"].contains(&kind.as_str()) {
        return Err(unknown_format(path, KNOWN));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)
        .map_err(|e| cannot_read(path, e))?;
    let mut numbers = Vec::new();
    if kind == "json" {
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| malformed(path, format!("not JSON: {e}")))?;
        flatten(&value, &mut numbers).map_err(|found| {
            malformed(path, format!("{found} where a list of numbers is needed"))
        })?;
        return Ok(numbers);
    }
    for (line, row) in text.lines().enumerate() {
        let row = row.split('#').next().unwrap_or("");
        for word in row.split([',', ';', ' ', '\t']).filter(|w| !w.is_empty()) {
            let number = word.trim().parse().map_err(|_| {
                malformed(path, format!("line {}: '{word}' is not a number", line + 1))
            })?;
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn flatten(value: &serde_json::Value, out: &mut Vec<f64>) -> std::result::Result<(), String> {
    match value {
        serde_json::Value::Array(items) => items.iter().try_for_each(|item| flatten(item, out)),
        other => match other.as_f64() {
            Some(number) => {
                out.push(number);
                Ok(())
            }
            None => Err(other.to_string().chars().take(40).collect()),
        },
    }
}
