//! What each procedure does to the queue's table, statement by statement. `rendered` holds this list to the rendered SQL, and the
//! search runs it.

use super::world::{Index, Mode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    InFlight,
    Waits,
    /// The same, of an item whose lease is over.
    Recovered,
    Finished,
    /// Of an item that waits: an operator's change.
    Cancelled,
    /// Nothing that an index has: a lease, a step.
    Same,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// Rows are looked for in an index, `most` of them; those that are found are the next statements'. `row` is how the row of
    /// an entry is locked, where the row is visited.
    Search {
        index: Index,
        mode: Mode,
        readpast: bool,
        holds: bool,
        row: Option<Mode>,
        most: u8,
    },
    /// The rows of the call, or those that were found, one by one by their key.
    ByKey {
        mode: Mode,
        readpast: bool,
        holds: bool,
    },
    /// The rows that were found, by their key.
    Update(To),
    Delete,
    /// Whether the works of the call are there already.
    LookUpWork {
        mode: Mode,
        ranges: bool,
    },
    /// Rows for those that are not.
    Insert,
    /// The queue's row in a table of all queues.
    TakeRow {
        index: Index,
        mode: Mode,
        readpast: bool,
    },
    /// What says there that others may go on.
    LeaveTurn,
    /// Of what was found, the first of each group.
    FreeOfGroup,
    /// The rows of `<queue>_Lease` of what was found, one by one by their key: locked, or written.
    Beside(Mode),
}

/// A procedure as one session runs it.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: &'static str,
    pub statements: Vec<Statement>,
    /// What the call is about: keys, or works.
    pub arguments: Vec<u8>,
    /// `SET DEADLOCK_PRIORITY LOW`: it is the victim, and its caller tries again.
    pub yields: bool,
}

impl Program {
    pub fn new(name: &'static str, statements: &[Statement], arguments: &[u8]) -> Self {
        Self { name, statements: statements.to_vec(), arguments: arguments.to_vec(), yields: false }
    }
}

use Statement::{Beside, ByKey, Delete, FreeOfGroup, Insert, LeaveTurn, LookUpWork, Search, TakeRow, Update};

/// What the due index has of a row.
pub const DUE_INDEX: [&str; 3] = ["ScheduledFor", "EnqueuedAt", "Status"];
/// What the claim reads of it.
pub const CLAIM_READS: [&str; 4] = ["EnqueuedAt", "ScheduledFor", "UpdatedAt", "AttemptNum"];

/// The search of a claim. Only where it reads what its index has not does it visit the row itself, and lock it.
pub fn due(reads: &[&str], index: &[&str]) -> Statement {
    let visits_row = reads.iter().any(|column| !index.contains(column));
    Search {
        index: Index::Due,
        mode: Mode::U,
        readpast: true,
        holds: true,
        row: visits_row.then_some(Mode::U),
        most: 2,
    }
}

const LOCK_ITEMS: Statement = ByKey { mode: Mode::U, readpast: false, holds: true };
const LOCK_FREE: Statement = ByKey { mode: Mode::U, readpast: true, holds: true };
const EXPIRED: Statement =
    Search { index: Index::InFlight, mode: Mode::S, readpast: true, holds: false, row: Some(Mode::S), most: 2 };

/// Takes due items.
pub fn claim_statements() -> [Statement; 2] {
    [due(&CLAIM_READS, &DUE_INDEX), Update(To::InFlight)]
}

/// Ends claims, in the order of the keys.
pub const SETTLE: [Statement; 2] = [LOCK_ITEMS, Update(To::Finished)];
/// Gives an item back, to be tried again.
pub const GIVE_BACK: [Statement; 2] = [LOCK_ITEMS, Update(To::Waits)];
/// An operator's change of items that wait.
pub const CANCEL: [Statement; 2] = [LOCK_ITEMS, Update(To::Cancelled)];
pub const RENEW: [Statement; 2] = [LOCK_ITEMS, Update(To::Same)];
/// Gives back what dead workers held.
pub const RECOVER: [Statement; 5] = [
    TakeRow { index: Index::Recovery, mode: Mode::X, readpast: true },
    EXPIRED,
    LeaveTurn,
    LOCK_FREE,
    Update(To::Recovered),
];
/// The same in a transaction of the caller's.
pub const RECOVER_WITHIN: [Statement; 3] = [EXPIRED, LOCK_FREE, Update(To::Recovered)];
/// What comes before the claims of a queue with groups, and before what they settle.
pub const TURN: Statement = TakeRow { index: Index::Turn, mode: Mode::U, readpast: false };
/// Adds items whose work must not be there, in the order of their works.
pub const ADD: [Statement; 2] = [LookUpWork { mode: Mode::S, ranges: false }, Insert];
pub const PURGE: [Statement; 3] =
    [Search { index: Index::Row, mode: Mode::S, readpast: true, holds: false, row: None, most: 2 }, LOCK_FREE, Delete];
/// Counts: reads entries of an index and the rows that they are of.
pub const STATS: [Statement; 1] =
    [Search { index: Index::Due, mode: Mode::S, readpast: false, holds: false, row: Some(Mode::S), most: u8::MAX }];

pub fn claim() -> Program {
    Program::new("claim", &claim_statements(), &[])
}

/// The claim of a queue where there are several ways to find what waits, by one of them: it keeps no entry of its index.
pub fn by_one_of(index: Index, program: Program) -> Program {
    let lets_go = |statement: Statement| match statement {
        Search { index: Index::Due, readpast, holds, row, most, .. } => {
            Search { index, mode: Mode::S, readpast, holds, row, most }
        }
        other => other,
    };
    Program { statements: program.statements.into_iter().map(lets_go).collect(), ..program }
}

/// The same beside a table of somebody else's: what `<queue>_Lease` has of an item is locked after the item, and written after it.
pub fn beside(program: Program) -> Program {
    let mut statements = Vec::new();
    for statement in program.statements {
        match statement {
            ByKey { mode: Mode::U, .. } => statements.extend([statement, Beside(Mode::U)]),
            // An item that is gone, or was changed by hand: what stands beside it follows.
            Update(To::Recovered) => statements.extend([Beside(Mode::X), statement, Beside(Mode::X)]),
            Update(_) => statements.extend([statement, Beside(Mode::X)]),
            other => statements.push(other),
        }
    }
    Program { statements, ..program }
}

/// Of a table that has no column for the deadline: its rows are not locked.
pub fn renew_beside(keys: &[u8]) -> Program {
    Program::new("renew", &[Beside(Mode::U), Beside(Mode::X)], keys)
}

pub fn settle(keys: &[u8]) -> Program {
    Program::new("settle", &SETTLE, keys)
}

pub fn cancel(keys: &[u8]) -> Program {
    Program::new("cancel", &CANCEL, keys)
}

pub fn give_back(keys: &[u8]) -> Program {
    Program::new("give back", &GIVE_BACK, keys)
}

/// The three in one transaction, as a worker calls them.
pub fn settle_and_claim(keys: &[u8]) -> Program {
    let statements: Vec<_> = SETTLE.into_iter().chain(RECOVER).chain(claim_statements()).collect();
    Program::new("settle and claim", &statements, keys)
}

/// The same within the caller's transaction.
pub fn settle_and_claim_within(keys: &[u8]) -> Program {
    let statements: Vec<_> = SETTLE.into_iter().chain(RECOVER_WITHIN).chain(claim_statements()).collect();
    Program::new("settle and claim", &statements, keys)
}

/// The claim of a queue with groups: from its search on, it asks which items are the first of theirs.
pub fn in_groups(program: Program) -> Program {
    let of_group = |statement: Statement| match statement {
        Search { index: Index::Due, .. } => vec![statement, FreeOfGroup],
        other => vec![other],
    };
    let rest = program.statements.into_iter().flat_map(of_group);
    Program { statements: [TURN].into_iter().chain(rest).collect(), ..program }
}

pub fn renew(keys: &[u8]) -> Program {
    Program::new("renew", &RENEW, keys)
}

pub fn recover() -> Program {
    Program { yields: true, ..Program::new("recover", &RECOVER, &[]) }
}

/// Within the caller's transaction, who is not to be the victim of what he asked for beside.
pub fn recover_within() -> Program {
    Program::new("recover", &RECOVER_WITHIN, &[])
}

pub fn add(works: &[u8]) -> Program {
    Program::new("add", &ADD, works)
}

pub fn purge() -> Program {
    Program { yields: true, ..Program::new("purge", &PURGE, &[]) }
}

pub fn stats() -> Program {
    Program { yields: true, ..Program::new("stats", &STATS, &[]) }
}
