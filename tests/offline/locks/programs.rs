//! The steps of each procedure on the queue's table, statement by statement. `rendered` holds this list to the rendered SQL, and the
//! search runs it.

use super::statement::{IfHeld, Program, Search, Statement, To};
use super::world::{Index, Key, Mode};

use Statement::{
    Beside, ByKey, Delete, FindOld, FindSame, Forget, ForgetOld, FreeOfGroup, Insert, LeaveTurn, LookUpWork, Remember,
    TakeRow, Update, WorksLeft,
};

/// The entry of a row in the due index.
pub const DUE_INDEX: [&str; 3] = ["ScheduledFor", "EnqueuedAt", "Status"];
/// The part of it that the claim reads.
pub const CLAIM_READS: [&str; 4] = ["EnqueuedAt", "ScheduledFor", "UpdatedAt", "AttemptNum"];

/// The search of a claim. Only where it reads what its index has not does it visit the row itself, and lock it.
pub fn due(reads: &[&str], index: &[&str]) -> Statement {
    let visits_row = reads.iter().any(|column| !index.contains(column));
    Statement::Search(Search { mode: Mode::U, holds: true, row: visits_row.then_some(Mode::U), ..look(Index::Due) })
}

/// A look at what an index has, for a moment, that passes over what others hold.
const fn look(index: Index) -> Search {
    Search {
        index,
        mode: Mode::S,
        readpast: true,
        holds: false,
        row: None,
        most: 2,
        kind: None,
        adds: false,
        trusts: false,
    }
}

pub const LOCK_ITEMS: Statement = ByKey { mode: Mode::U, readpast: false, holds: true };
pub const LOCK_FREE: Statement = ByKey { mode: Mode::U, readpast: true, holds: true };
pub const EXPIRED: Statement = Statement::Search(Search { row: Some(Mode::S), ..look(Index::InFlight) });

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
pub const RENEW: [Statement; 2] = [LOCK_FREE, Update(To::Same)];
/// Reports how far items are: the rows beside them are nobody else's while their items are locked.
pub const REPORT: [Statement; 1] = [LOCK_FREE];
/// Gives back what dead workers held.
pub const RECOVER: [Statement; 5] = [
    TakeRow { index: Index::Recovery, mode: Mode::X, if_held: IfHeld::GoesOn },
    EXPIRED,
    LeaveTurn,
    LOCK_FREE,
    Update(To::Recovered),
];
/// The same in a transaction of the caller's.
pub const RECOVER_WITHIN: [Statement; 3] = [EXPIRED, LOCK_FREE, Update(To::Recovered)];
/// The steps before the claims of a queue with groups, and before their settlements.
pub const TURN: Statement = TakeRow { index: Index::Turn, mode: Mode::U, if_held: IfHeld::Waits };
/// Adds items whose work must not be there, in the order of their works.
pub const ADD: [Statement; 2] = [LookUpWork { mode: Mode::S, ranges: false }, Insert];
/// The same where an item that waits gets what the new one has: by its row, before anything is put in.
pub const REPLACE: [Statement; 5] =
    [FindSame { mode: Mode::S, by_key: true }, LOCK_ITEMS, Update(To::Replaced), WorksLeft, Insert];
/// Items that have ended: completed ones in the order of the keys, all others by an index.
pub const PURGE: [Statement; 3] = [Statement::Search(look(Index::Row)), LOCK_FREE, Delete];
pub const PURGE_ENDED: [Statement; 3] =
    [Statement::Search(Search { row: Some(Mode::S), ..look(Index::Ended) }), LOCK_FREE, Delete];
/// One at a time deletes what has ended long ago, without being asked to.
pub const RETENTION: Statement = TakeRow { index: Index::Retention, mode: Mode::U, if_held: IfHeld::GoesAway };
/// The end of the call.
const RETAINED: Statement = TakeRow { index: Index::Retention, mode: Mode::X, if_held: IfHeld::Waits };
pub const FORGET_OLD: Statement = ForgetOld { readpast: true, by_key: true };
/// Counts: reads entries of an index and the rows that they are of.
pub const STATS: [Statement; 1] =
    [Statement::Search(Search { readpast: false, row: Some(Mode::S), most: u8::MAX, ..look(Index::Due) })];

pub fn report(keys: &[Key]) -> Program {
    Program::new("report", &REPORT, keys)
}

pub fn claim() -> Program {
    Program::new("claim", &claim_statements(), &[])
}

/// The claim of a queue that finds what waits by another index.
pub fn by_index(index: Index, program: Program) -> Program {
    each(program, |statement| match statement {
        Statement::Search(search) if search.index == Index::Due => vec![Statement::Search(Search { index, ..search })],
        other => vec![other],
    })
}

/// The claim of one where there are several ways to find it, by one of them: it keeps no entry of its index.
pub fn by_one_of(index: Index, program: Program) -> Program {
    each(program, |statement| match statement {
        Statement::Search(search) if search.index == Index::Due => {
            vec![Statement::Search(Search { index, mode: Mode::S, ..search })]
        }
        other => vec![other],
    })
}

/// A claim by an index of kinds, of these kinds, one after the other.
pub fn of_kinds(index: Index, kinds: &[u8], program: Program) -> Program {
    each(by_one_of(index, program), |statement| match statement {
        Statement::Search(search) if search.index == index => {
            let of_kind = |(place, kind): (usize, &u8)| Search { kind: Some(*kind), adds: place > 0, ..search };
            kinds.iter().enumerate().map(of_kind).map(Statement::Search).collect()
        }
        other => vec![other],
    })
}

/// The claim of a queue with shards, which begins at one of them and goes on to the others, by an index that begins with them. To the
/// search a shard is a kind.
pub fn in_shards(index: Index, shards: &[u8], program: Program) -> Program {
    each(program, |statement| match statement {
        Statement::Search(search) if search.index == Index::Due => {
            let of_shard =
                |(place, shard): (usize, &u8)| Search { index, kind: Some(*shard), adds: place > 0, ..search };
            shards.iter().enumerate().map(of_shard).map(Statement::Search).collect()
        }
        other => vec![other],
    })
}

/// The program with others in the place of each of its statements.
fn each(program: Program, mut others: impl FnMut(Statement) -> Vec<Statement>) -> Program {
    Program { statements: program.statements.into_iter().flat_map(&mut others).collect(), ..program }
}

/// The same beside a table of somebody else's: what `<queue>_Lease` has of an item is locked after the item, and written after it.
pub fn beside(program: Program) -> Program {
    each(program, |statement| match statement {
        ByKey { mode: Mode::U, .. } => vec![statement, Beside(Mode::U)],
        // An item that is gone, or was changed by hand: what stands beside it follows.
        Update(To::Recovered) => vec![Beside(Mode::X), statement, Beside(Mode::X)],
        Update(_) | Delete => vec![statement, Beside(Mode::X)],
        other => vec![other],
    })
}

/// The same where attempts are remembered: what came of them is written when their items are, and goes when their items go.
pub fn remembering(program: Program) -> Program {
    let mut statements = Vec::new();
    let mut rest = program.statements.into_iter().peekable();
    while let Some(statement) = rest.next() {
        statements.push(statement);
        match statement {
            Update(To::Finished | To::Waits | To::Recovered) => {
                statements.extend(rest.next_if(|next| matches!(next, Beside(_))));
                let delete = rest.next_if_eq(&Delete);
                statements.extend(delete);
                statements.push(Remember);
                statements.extend(delete.map(|_| Forget));
            }
            Delete => statements.push(Forget),
            _ => {}
        }
    }
    Program { statements, ..program }
}

/// Where completed items are deleted, a call may end items of both sorts.
pub fn deleting(program: Program) -> Program {
    each(program, |statement| match statement {
        Update(To::Finished) => vec![statement, Delete],
        other => vec![other],
    })
}

/// A renewal in a table without a column for the deadline, whose rows are not locked.
pub fn renew_beside(keys: &[Key]) -> Program {
    Program::new("renew", &[Statement::BesideFree, Beside(Mode::X)], keys)
}

/// A report in a table of somebody else's, which locks what stands beside it as well, and writes neither.
pub fn report_beside(keys: &[Key]) -> Program {
    Program::new("report", &[LOCK_FREE, Statement::BesideFree], keys)
}

pub fn settle(keys: &[Key]) -> Program {
    Program::new("settle", &SETTLE, keys)
}

pub fn cancel(keys: &[Key]) -> Program {
    Program::new("cancel", &CANCEL, keys)
}

pub fn give_back(keys: &[Key]) -> Program {
    Program::new("give back", &GIVE_BACK, keys)
}

/// The three in one transaction, as a worker calls them.
pub fn settle_and_claim(keys: &[Key]) -> Program {
    let statements: Vec<_> = SETTLE.into_iter().chain(RECOVER).chain(claim_statements()).collect();
    Program::new("settle and claim", &statements, keys)
}

/// The same within the caller's transaction.
pub fn settle_and_claim_within(keys: &[Key]) -> Program {
    let statements: Vec<_> = SETTLE.into_iter().chain(RECOVER_WITHIN).chain(claim_statements()).collect();
    Program::new("settle and claim", &statements, keys)
}

/// The claim of a queue with groups: from its search on, it asks which items are the first of theirs. It may wait for that, and so
/// keeps no entry of its index either.
pub fn in_groups(program: Program) -> Program {
    let program = each(by_one_of(Index::Due, program), |statement| match statement {
        Statement::Search(Search { row: Some(Mode::U), .. }) => vec![statement, FreeOfGroup],
        other => vec![other],
    });
    let statements = [TURN].into_iter().chain(program.statements).collect();
    Program { statements, ..program }
}

/// The claim of a queue with a limit: in its turn it counts what is in work, and takes no more than there is room for.
pub fn within_limits(at_once: u8, program: Program) -> Program {
    let program = each(program, |statement| match statement {
        Statement::Search(Search { row: Some(Mode::U), .. }) => vec![Statement::Count { at_once }, statement],
        other => vec![other],
    });
    let statements = [TURN].into_iter().chain(program.statements).collect();
    Program { statements, ..program }
}

/// The same where others wait for the items that end: the trigger lets them go.
pub fn letting_go(program: Program, waiting: &'static [Key]) -> Program {
    let mut is_over = false;
    each(program, |statement| match statement {
        Update(To::Finished | To::Cancelled) if !is_over => {
            is_over = true;
            vec![statement, Statement::Others(waiting), LOCK_ITEMS, Update(To::Due)]
        }
        other => vec![other],
    })
}

/// An enqueue of items that wait for others: it holds those until it ends.
pub fn add_after(works: &[Key], parents: &'static [Key]) -> Program {
    Program::new("add after", &[ADD[0], ADD[1], Statement::Others(parents), LOCK_ITEMS], works)
}

pub fn renew(keys: &[Key]) -> Program {
    Program::new("renew", &RENEW, keys)
}

pub fn recover() -> Program {
    Program { yields: true, ..Program::new("recover", &RECOVER, &[]) }
}

/// Within the caller's transaction, who is not to be the victim of what he asked for beside.
pub fn recover_within() -> Program {
    Program::new("recover", &RECOVER_WITHIN, &[])
}

pub fn add(works: &[Key]) -> Program {
    Program::new("add", &ADD, works)
}

pub fn replace(works: &[Key]) -> Program {
    Program::new("replace", &REPLACE, works)
}

pub fn purge() -> Program {
    Program { yields: true, ..Program::new("purge", &PURGE, &[]) }
}

/// The retention of a worker, of completed items or of others that have ended.
pub fn retain(purge: [Statement; 3]) -> Program {
    let [find, lock, delete] = purge;
    Program { yields: true, ..Program::new("retain", &[RETENTION, find, RETAINED, lock, delete], &[]) }
}

/// The same where attempts are remembered for a time of their own.
pub fn retain_attempts(program: Program) -> Program {
    let mut program = each(program, |statement| match statement {
        RETAINED => vec![FindOld, RETAINED],
        other => vec![other],
    });
    program.statements.push(FORGET_OLD);
    program
}

/// And where no item goes.
pub fn retain_nothing() -> Program {
    Program { yields: true, ..Program::new("retain", &[RETENTION, RETAINED], &[]) }
}

/// An item that waits is given another step.
pub fn to_other_kind(keys: &[Key]) -> Program {
    Program::new("to another step", &[LOCK_ITEMS, Update(To::OtherKind)], keys)
}

/// An operator lets items that have ended begin anew.
pub fn redrive(keys: &[Key]) -> Program {
    Program::new("redrive", &[LOCK_ITEMS, Update(To::Redriven)], keys)
}

pub fn attempts(keys: &[Key]) -> Program {
    Program { yields: true, ..Program::new("attempts", &[Statement::ReadAttempts], keys) }
}

pub fn stats() -> Program {
    Program { yields: true, ..Program::new("stats", &STATS, &[]) }
}
