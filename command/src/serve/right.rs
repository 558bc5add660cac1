//! The rights of clients: to read, to operate, to purge. Each has those before it.

use readpast::OperatorVerb;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To look.
    Read,
    /// To redrive, retry, cancel, pause and resume items.
    Operate,
    /// To delete ended items, too.
    Purge,
}

impl Right {
    const ALL: [(Self, &'static str); 3] = [(Self::Read, "read"), (Self::Operate, "operate"), (Self::Purge, "purge")];

    /// The right that an action needs.
    pub fn of(verb: OperatorVerb) -> Self {
        if verb == OperatorVerb::Purge { Self::Purge } else { Self::Operate }
    }

    /// The right of this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == word).map(|(right, _)| *right)
    }
}
