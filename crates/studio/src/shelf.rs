//! Models that the page can name: the one it was opened with, and files that were read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ide3al::model::Mdp;

/// Models kept; the one used longest ago goes first.
const MOST: usize = 12;

/// Models by name.
pub(super) struct Shelf {
    /// What the page was opened with stays.
    fixed: Vec<(String, Arc<Mdp>)>,
    read: Mutex<VecDeque<(String, Arc<Mdp>)>>,
}

impl Shelf {
    pub(super) fn holding(fixed: Vec<(String, Arc<Mdp>)>) -> Self {
        Shelf {
            fixed,
            read: Mutex::new(VecDeque::new()),
        }
    }

    /// The model of a name.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Mdp>> {
        if let Some((_, mdp)) = self.fixed.iter().find(|(known, _)| known == name) {
            return Some(Arc::clone(mdp));
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let place = read.iter().position(|(known, _)| known == name)?;
        let entry = read.remove(place)?;
        let mdp = Arc::clone(&entry.1);
        read.push_back(entry);
        Some(mdp)
    }

    /// Keeps a model under a name.
    pub(super) fn put(&self, name: String, mdp: Arc<Mdp>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|(known, _)| *known != name);
        if read.len() >= MOST {
            read.pop_front();
        }
        read.push_back((name, mdp));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_makes_room() {
        let mdp = Arc::new(ide3al::domains::load("single-chain").unwrap());
        let shelf = Shelf::holding(vec![("given".into(), Arc::clone(&mdp))]);
        for k in 0..MOST {
            shelf.put(k.to_string(), Arc::clone(&mdp));
        }
        assert!(shelf.find("0").is_some());
        shelf.put("new".into(), mdp);
        assert!(shelf.find("0").is_some() && shelf.find("1").is_none());
        assert!(shelf.find("given").is_some());
    }
}
