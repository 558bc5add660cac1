//! Notices of what was done, kept under random names until others take their place: an address that somebody made up shows none.

use super::encoding::random;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

const KEPT: usize = 200;

#[derive(Default)]
pub struct Notices(Mutex<VecDeque<(String, String)>>);

impl Notices {
    /// Keeps a notice; its name is for an address. Without random numbers from the system there is none.
    pub fn keep(&self, text: String) -> Option<String> {
        let name = random().ok()?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((name.clone(), text));
        Some(name)
    }

    pub fn find(&self, name: &str) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_found_by_its_name_until_there_are_many_later_ones() {
        let notices = Notices::default();
        let first = notices.keep("cancelled: 1".to_owned()).unwrap();
        assert_eq!(notices.find(&first).as_deref(), Some("cancelled: 1"));
        assert_eq!(notices.find("cancel"), None);
        let names: Vec<_> = (0..KEPT).map(|at| notices.keep(at.to_string()).unwrap()).collect();
        assert_eq!((notices.find(&first), notices.find(&names[0]).as_deref()), (None, Some("0")));
    }
}
