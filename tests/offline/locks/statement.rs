//! Statements of procedures, as they work on the queue's table and on the rows beside it. `programs` has the procedures.

use super::world::{Index, Key, Mode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    InFlight,
    Waits,
    /// The same, of an item whose lease is over.
    Recovered,
    /// The same, of one that has waited for others.
    Due,
    Finished,
    /// An operator's change of an item that waits.
    Cancelled,
    /// An operator's change of an item that has ended.
    Redriven,
    /// An item that waits gets other values and another due time.
    Replaced,
    /// An item that waits goes to another step.
    OtherKind,
    /// Nothing that an index has: a lease, a step.
    Same,
}

/// Rows are looked for in an index; those that are found are the next statements'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    pub index: Index,
    /// How an entry is locked, and whether for longer than it is read.
    pub mode: Mode,
    pub readpast: bool,
    pub holds: bool,
    /// How the row of an entry is locked, where the row is visited.
    pub row: Option<Mode>,
    pub most: u8,
    /// Items of one kind; all where there is none.
    pub kind: Option<u8>,
    /// Beside what was found before.
    pub adds: bool,
    /// Takes the row for what its entry was, and does not ask it again.
    pub trusts: bool,
}

/// The reaction of a session that finds a row of all queues locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfHeld {
    Waits,
    GoesOn,
    /// Does nothing more.
    GoesAway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    Search(Search),
    /// The rows of the call, or those that were found, one by one by their key.
    ByKey {
        mode: Mode,
        readpast: bool,
        holds: bool,
    },
    /// The rows of other items are the next statements': of those that wait for these, or for which these wait.
    Others(&'static [Key]),
    /// The rows that were found, by their key.
    Update(To),
    Delete,
    /// Whether the works of the call are there already.
    LookUpWork {
        mode: Mode,
        ranges: bool,
    },
    /// The rows of those that are there, which the next statements are about.
    FindSame {
        mode: Mode,
        by_key: bool,
    },
    /// Back to the works: those that no such row has, as it is now that it is locked.
    WorksLeft,
    /// Rows for those that are not.
    Insert,
    /// The queue's row in a table of all queues.
    TakeRow {
        index: Index,
        mode: Mode,
        if_held: IfHeld,
    },
    /// The entry there that lets others go on.
    LeaveTurn,
    /// The first of each group among the rows found.
    FreeOfGroup,
    /// Items in flight are counted one by one: what is left of the limit may be claimed.
    Count {
        at_once: u8,
    },
    /// The rows of `<queue>_Lease` of what was found, one by one by their key: locked, or written.
    Beside(Mode),
    /// The same, locked to be changed and passed over where others hold them.
    BesideFree,
    /// Writes the outcomes of the attempts at the rows found into `<queue>_Attempt`.
    Remember,
    /// Deletes the rows there of the items that were found.
    Forget,
    /// Attempts are looked for that are old enough, whatever their items are.
    FindOld,
    /// Those that were found are deleted, in the order of their keys, or in that in which they were found.
    ForgetOld {
        readpast: bool,
        by_key: bool,
    },
    ReadAttempts,
}

/// A procedure as one session runs it.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: &'static str,
    pub statements: Vec<Statement>,
    /// The subject of the call: keys, or works.
    pub arguments: Vec<Key>,
    /// `SET DEADLOCK_PRIORITY LOW`: it is the victim, and its caller tries again.
    pub yields: bool,
}

impl Program {
    pub fn new(name: &'static str, statements: &[Statement], arguments: &[Key]) -> Self {
        Self { name, statements: statements.to_vec(), arguments: arguments.to_vec(), yields: false }
    }

    /// Whether it changes nothing, and keeps nothing locked.
    pub fn only_reads(&self) -> bool {
        let reads = |statement: &Statement| match statement {
            Statement::Search(search) => !search.holds,
            statement => *statement == Statement::ReadAttempts,
        };
        self.statements.iter().all(reads)
    }

    /// Whether it writes what came of attempts.
    pub fn remembers(&self) -> bool {
        self.statements.contains(&Statement::Remember)
    }

    /// Those of which it claims items; none if it claims of all.
    pub fn kinds(&self) -> impl Iterator<Item = u8> {
        self.statements.iter().filter_map(|statement| match statement {
            Statement::Search(search) => search.kind,
            _ => None,
        })
    }
}
