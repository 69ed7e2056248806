//! `key=value,key=value` after a domain's name.

use std::str::FromStr;

use super::bad;
use crate::error::{Error, Result};

/// Parameters as typed, each taken once by the domain that knows it.
pub(super) struct Arguments {
    domain: String,
    given: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Arguments {
    /// Parses `text`; empty text gives no parameters.
    pub(super) fn parse(domain: &str, text: &str) -> Result<Self> {
        let mut given: Vec<(String, String)> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(bad(
                    domain,
                    part,
                    "parameters are written key=value and separated by commas",
                ));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if given.iter().any(|(k, _)| *k == key) {
                return Err(bad(&key, value, "this parameter is given twice"));
            }
            given.push((key, value));
        }
        Ok(Arguments {
            domain: domain.to_owned(),
            given,
            known: Vec::new(),
        })
    }

    /// The value of `key`, or the default when it is not given.
    pub(super) fn take<T: FromStr>(&mut self, key: &'static str, default: T) -> Result<T> {
        Ok(self.take_optional(key)?.unwrap_or(default))
    }

    /// The value of `key`, if given.
    pub(super) fn take_optional<T: FromStr>(&mut self, key: &'static str) -> Result<Option<T>> {
        self.known.push(key);
        let Some(place) = self.given.iter().position(|(k, _)| k == key) else {
            return Ok(None);
        };
        let (_, text) = self.given.swap_remove(place);
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) if text.parse::<f64>().is_ok() => Err(bad(
                key,
                text,
                "a whole number that is not negative is needed",
            )),
            Err(_) => Err(bad(key, text, "a number is needed")),
        }
    }

    /// `true` or `false`, if given.
    pub(super) fn take_flag(&mut self, key: &'static str) -> Result<Option<bool>> {
        match self.take_optional::<String>(key)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(bad(key, other, "true or false is needed")),
        }
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<()> {
        let Some((key, _)) = self.given.first() else {
            return Ok(());
        };
        match Error::unknown("parameter", key, &self.known) {
            Error::Unknown { what, name, hint } => Err(Error::Unknown {
                what,
                name: format!("{}:{name}", self.domain),
                hint: if self.known.is_empty() {
                    "; it takes none".into()
                } else {
                    hint
                },
            }),
            other => Err(other),
        }
    }
}
