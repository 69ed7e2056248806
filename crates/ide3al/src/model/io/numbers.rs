//! Lists of probabilities in JSON: flat, in rows, or in one table per step.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Numbers as the file gave them.
pub(super) enum Numbers {
    /// One number per pair.
    Flat(Vec<f64>),
    /// One row per state.
    Rows(Vec<Vec<f64>>),
    /// One table per step.
    Tables(Vec<Vec<Vec<f64>>>),
}

/// A document with the key `policy`, or the bare list.
pub(super) struct Document(pub(super) Option<Numbers>);

/// One number, or a list.
enum Item<L> {
    Number(f64),
    List(Vec<L>),
}

impl<'de, L: Deserialize<'de>> Deserialize<'de> for Item<L> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Seed<L>(PhantomData<L>);
        impl<'de, L: Deserialize<'de>> Visitor<'de> for Seed<L> {
            type Value = Item<L>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability or a list of probabilities")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Item<L>, E> {
                Ok(Item::Number(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Item<L>, E> {
                Ok(Item::Number(value as f64))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Item<L>, E> {
                Ok(Item::Number(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Item<L>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Item::List(items))
            }
        }
        from.deserialize_any(Seed(PhantomData))
    }
}

/// Numbers alone, or lists alone; nothing where both occur.
fn sorted<L>(items: Vec<Item<L>>) -> Option<Result<Vec<f64>, Vec<Vec<L>>>> {
    let (mut numbers, mut lists) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Number(p) => numbers.push(p),
            Item::List(list) => lists.push(list),
        }
    }
    match (numbers.is_empty(), lists.is_empty()) {
        (false, false) => None,
        (false, true) => Some(Ok(numbers)),
        _ => Some(Err(lists)),
    }
}

impl Numbers {
    /// Whatever depth the lists have, if it is the same everywhere.
    fn from_items(items: Vec<Item<Item<f64>>>) -> Option<Self> {
        let lists = match sorted(items)? {
            Ok(flat) => return Some(Numbers::Flat(flat)),
            Err(lists) => lists,
        };
        let (mut rows, mut tables) = (Vec::new(), Vec::new());
        for list in lists {
            let empty = list.is_empty();
            match sorted(list)? {
                Ok(row) => rows.push(row),
                Err(_) if empty => rows.push(Vec::new()),
                Err(table) => tables.push(table),
            }
        }
        match (rows.is_empty(), tables.is_empty()) {
            (false, false) => None,
            (true, false) => Some(Numbers::Tables(tables)),
            _ => Some(Numbers::Rows(rows)),
        }
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a policy: one list of probabilities per state")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Numbers::from_items(items)
                    .ok_or_else(|| A::Error::custom("numbers and lists are mixed in the policy"))
            }
        }
        from.deserialize_seq(Seed)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the key 'policy', or one list per state")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut found = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "policy" {
                        found = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Document(found))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Document, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Ok(Document(Some(Numbers::deserialize(list)?)))
            }
        }
        from.deserialize_any(Seed)
    }
}
