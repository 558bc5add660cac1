//! The statements of the model, and those of the rendered SQL: they cannot part.

use super::programs;
use super::reading::{ASKED_AGAIN, OF_GROUP, OR_NOTHING, ROW_OF_ENTRY, rendered};
use super::statement::{IfHeld, Program, Search, Statement, To};
use super::world::{Index, Mode};
use crate::tsql::text::{self, Batch, Token, follow};
use readpast::Dialect;
use readpast::description::QueueSpec;
use readpast::ident::Identifier;

/// How a program of the model is rendered.
pub fn of_model(program: &Program) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for statement in &program.statements {
        match statement {
            Statement::FreeOfGroup => lines.last_mut().unwrap().push_str(&format!(", {}", OF_GROUP.join(", "))),
            // The count is a function's.
            Statement::WorksLeft | Statement::Count { .. } => {}
            statement => lines.push(line(statement)),
        }
    }
    lines.dedup();
    lines
}

fn line(statement: &Statement) -> String {
    match statement {
        Statement::Search(Search { index, mode, readpast, row, trusts, .. }) => {
            let index = if *index == Index::Row { String::new() } else { format!(" {index:?}") };
            let search = format!("search{index}{}{}", update_lock(*mode), past(*readpast));
            let again = if *trusts { "" } else { ASKED_AGAIN };
            if row.is_some_and(|row| row != *mode) { format!("{search}, {ROW_OF_ENTRY}{again}") } else { search }
        }
        Statement::ByKey { mode, readpast, .. } => format!("by key{}{} in order", update_lock(*mode), past(*readpast)),
        Statement::Update(_) => "update".to_owned(),
        Statement::Delete => "delete in order".to_owned(),
        Statement::LookUpWork { mode, ranges } => {
            format!("search Work{}{}", update_lock(*mode), if *ranges { " HOLDLOCK" } else { "" })
        }
        Statement::FindSame { mode, .. } => format!("search Work{}", update_lock(*mode)),
        Statement::Insert => "insert in order".to_owned(),
        Statement::TakeRow { index: Index::Recovery, if_held, .. } => {
            format!("QueueRecovery update{}", past(*if_held == IfHeld::GoesOn))
        }
        Statement::TakeRow { index, mode: Mode::X, .. } => format!("Queue{index:?} update"),
        Statement::TakeRow { index, mode, if_held } => {
            let or_nothing = if *if_held == IfHeld::GoesAway { OR_NOTHING } else { "" };
            format!("Queue{index:?} search{}{}{or_nothing}", update_lock(*mode), past(*if_held != IfHeld::Waits))
        }
        Statement::LeaveTurn => "QueueRecovery update".to_owned(),
        Statement::Beside(Mode::X) => "Job_Lease written".to_owned(),
        Statement::BesideFree => "Job_Lease by key UPDLOCK READPAST in order".to_owned(),
        Statement::Beside(mode) => format!("Job_Lease by key{} in order", update_lock(*mode)),
        Statement::Remember => "Job_Attempt insert".to_owned(),
        Statement::Forget => "Job_Attempt delete in order".to_owned(),
        Statement::FindOld => "Job_Attempt search Attempt_Ended READPAST".to_owned(),
        Statement::ForgetOld { readpast, by_key } => {
            format!("Job_Attempt delete{}{}", past(*readpast), if *by_key { " in order" } else { "" })
        }
        Statement::ReadAttempts => "Job_Attempt by key".to_owned(),
        Statement::Others(_) => String::new(),
        Statement::FreeOfGroup | Statement::WorksLeft | Statement::Count { .. } => {
            unreachable!("it is a part of another, or locks nothing")
        }
    }
}

fn update_lock(mode: Mode) -> &'static str {
    if mode == Mode::U { " UPDLOCK" } else { "" }
}

fn past(readpast: bool) -> &'static str {
    if readpast { " READPAST" } else { "" }
}

const SPEC: &str = r#"{"queue": "Job", "columns": [{"name": "Reference", "type": "guid"}],
    "dedup": {"columns": ["Reference"]}}"#;

/// The batches of a description's script.
pub fn script(spec: &str) -> Vec<Batch> {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let spec = QueueSpec::from_text(spec).unwrap();
    text::batches(&readpast::render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap(), "Job")
}

/// The procedure of this name, the queue's name in it as Q.
pub fn procedure<'a>(batches: &'a [Batch], name: &str) -> &'a Batch {
    let wanted = format!("PROCEDURE {name}");
    batches.iter().find(|batch| batch.object == wanted).unwrap_or_else(|| panic!("there is no {wanted}"))
}

/// The same with the procedures that it executes in the place of each EXECUTE.
pub fn whole(batches: &[Batch], name: &str) -> Batch {
    let batch = procedure(batches, name);
    let mut tokens = Vec::new();
    let end = Token { kind: text::Kind::Symbol, text: ";".to_owned(), line: 0 };
    for statement in batch.statements() {
        tokens.extend_from_slice(statement);
        tokens.push(end.clone());
        let called = statement.iter().position(|token| token.is("EXECUTE")).and_then(|at| statement.get(at + 3));
        let called = called.filter(|called| called.is_name()).map(|called| called.text.replace("Job", "Q"));
        if let Some(called) = called.filter(|called| *called != name) {
            tokens.extend(whole(batches, &called).tokens);
        }
    }
    Batch { tokens, object: batch.object.clone() }
}

/// Where these procedures are others than the programs; `free`: statements that lock nothing that others wait for.
pub fn differences(batches: &[Batch], free: &[&str], programs: &[(&str, Program)]) -> Vec<String> {
    differences_of("Job", batches, free, programs)
}

pub fn differences_of(table: &str, batches: &[Batch], free: &[&str], programs: &[(&str, Program)]) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, program) in programs {
        let batch = whole(batches, name);
        let mut lines = rendered(&batch, table);
        if name.ends_with("_utx") && lines.iter().any(|line| line.starts_with("QueueRecovery")) {
            let tokens = &procedure(batches, name).tokens;
            let takes_none = ["@Recover", ">", "2", "THEN", "1"];
            let is_capped = |five: &[Token]| five.iter().map(|token| token.text.as_str()).eq(takes_none);
            assert!(tokens.windows(takes_none.len()).any(is_capped), "{name} takes a turn to recover");
            lines.retain(|line| !line.starts_with("QueueRecovery"));
        }
        // An add within the caller's transaction waits for the same work; an add with its own transaction looks again.
        let other = if name.ends_with("_utx") { "search Work" } else { "search Work UPDLOCK HOLDLOCK" };
        if table == "Job" && lines.iter().filter(|line| line.starts_with("search Work")).count() > 1 {
            lines.retain(|line| line != other);
        }
        // A call that settles and claims has the turn of the groups before its claim asks for it.
        let mut has_turn = false;
        lines.retain(|line| !line.starts_with("QueueTurn") || !std::mem::replace(&mut has_turn, true));
        for line in &mut lines {
            // Whether its row is there already is known when its item is locked.
            let written =
                ["update", "insert", "delete in order"].iter().any(|verb| *line == format!("Job_Lease {verb}"));
            if written {
                "Job_Lease written".clone_into(line);
            }
            *line = line.replace("search IX_Job_", "search ").replace("Job_Lease search Lease_", "search ");
            // A search of all, which looks beside as well.
            if table != "Job" && line == "by key READPAST" {
                "search READPAST".clone_into(line);
            }
        }
        lines.retain(|line| !free.contains(&line.as_str()));
        lines.dedup();
        if lines != of_model(program) {
            differences.push(format!("{name}: {}", lines.join(", ")));
        }
        let gives_way = (0..batch.tokens.len()).any(|at| follow(&batch.tokens, at, &["DEADLOCK_PRIORITY", "LOW"]));
        if program.yields != gives_way {
            differences.push(format!("{name}: {}", if gives_way { "gives way" } else { "does not give way" }));
        }
    }
    differences
}

/// Rows that the transaction has locked are read again; a look that passes over locked rows waits for nobody.
pub const FREE: [&str; 5] =
    ["by key", "by key in order", "by key READPAST in order", "search Due READPAST", "search Ended READPAST"];

#[test]
fn the_model_is_of_the_rendered_sql() {
    let batches = script(SPEC);
    let mut found = differences(
        &batches,
        &FREE,
        &[
            ("Add_Q_Set_trx", programs::add(&[])),
            ("Next_Q_Set_trx", joined(&[programs::recover(), programs::claim()])),
            ("Next_Q_trx", joined(&[programs::recover(), programs::claim()])),
            ("Modify_Q_Set_trx", programs::settle_and_claim(&[])),
            ("Modify_Q_trx", programs::settle(&[])),
            // Within a longer transaction: the same statements, but for the turn to recover.
            ("Next_Q_utx", joined(&[programs::recover_within(), programs::claim()])),
            ("Next_Q_Set_utx", joined(&[programs::recover_within(), programs::claim()])),
            ("Modify_Q_Set_utx", programs::settle_and_claim_within(&[])),
            ("Modify_Q_utx", programs::settle(&[])),
            ("Renew_Q_Set_trx", programs::renew(&[])),
            ("Redrive_Q_Set_trx", programs::redrive(&[])),
            ("Recover_Q_trx", programs::recover()),
            ("Purge_Q_trx", programs::purge()),
        ],
    );
    // It only reads, more than the model's one index, and passes over what others hold; the model's reader waits for
    // them, as `Find` does. That it gives way is what matters.
    let stats = batches.iter().find(|batch| batch.object == "PROCEDURE Stats_Q").unwrap();
    let changes = |line: &String| {
        line.contains("UPDLOCK") || ["update", "delete", "insert"].iter().any(|verb| line.starts_with(verb))
    };
    assert!(!rendered(stats, "Job").iter().any(changes));
    assert!((0..stats.tokens.len()).any(|at| follow(&stats.tokens, at, &["DEADLOCK_PRIORITY", "LOW"])));
    let (index, reads) = due_index_and_claim(&batches);
    if index != sorted(&programs::DUE_INDEX) {
        found.push(format!("IX_Job_Due has {}", index.join(", ")));
    }
    for column in programs::CLAIM_READS {
        assert!(reads.iter().any(|read| read == column), "the claim reads {column}: {reads:?}");
    }
    let witness: Vec<_> = reads.iter().filter(|column| !index.contains(column) && *column != "Status").collect();
    assert!(!witness.is_empty(), "the index covers the claim");
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}

/// A report locks its items like a renewal, and then writes rows that belong to those who hold them.
#[test]
fn the_model_is_of_reports_of_progress() {
    let spec = r#"{"queue": "Job", "columns": [], "progress": true}"#;
    let found = differences(&script(spec), &FREE, &[("Progress_Q_Set_trx", programs::report(&[]))]);
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}

#[test]
fn the_model_is_of_a_queue_with_groups() {
    let spec =
        r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "text(20)"}], "order": {"group": "Customer"}}"#;
    let claim = || programs::in_groups(joined(&[programs::recover(), programs::claim()]));
    let found = differences(
        &script(spec),
        &FREE,
        &[
            ("Next_Q_Set_trx", claim()),
            ("Next_Q_trx", claim()),
            ("Next_Q_utx", programs::in_groups(joined(&[programs::recover_within(), programs::claim()]))),
            ("Modify_Q_Set_trx", programs::in_groups(programs::settle_and_claim(&[]))),
            ("Modify_Q_Set_utx", programs::in_groups(programs::settle_and_claim_within(&[]))),
            ("Modify_Q_trx", programs::settle(&[])),
            ("Recover_Q_trx", programs::recover()),
        ],
    );
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}

/// Recovery is a part of other procedures too, and gives way there no more than they do.
pub fn joined(programs: &[Program]) -> Program {
    let statements: Vec<_> = programs.iter().flat_map(|program| program.statements.clone()).collect();
    Program::new("", &statements, &[])
}

pub fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// The columns of the due index, and those that the claim's search reads.
pub fn due_index_and_claim(batches: &[Batch]) -> (Vec<String>, Vec<String>) {
    let index = batches.iter().find(|batch| batch.object == "INDEX IX_Q_Due").expect("the due index");
    let create = index.tokens.iter().position(|token| token.is("CREATE")).unwrap();
    let tokens = &index.tokens[create..];
    let open = tokens.iter().position(|token| token.is("(")).unwrap();
    let filter = tokens.iter().position(|token| token.is("WHERE")).unwrap();
    let columns: Vec<_> =
        tokens[open..filter].iter().filter(|token| token.is_name()).map(|token| token.text.as_str()).collect();

    let claim = batches.iter().find(|batch| batch.object == "PROCEDURE Q_Claim").expect("the claim");
    let search = claim
        .statements()
        .find(|tokens| {
            tokens.iter().any(|token| token.text == "IX_Job_Due") && tokens.iter().any(|token| token.is("UPDLOCK"))
        })
        .expect("the search of the claim");
    let reads = search.windows(3).filter(|three| three[0].is("Q") && three[1].is(".") && three[2].is_name());
    let reads: Vec<_> = reads.map(|three| three[2].text.as_str()).collect();
    (sorted(&columns), sorted(&reads))
}

/// To sessions that change what they have found, a search without the row would be another statement.
#[test]
fn the_claim_of_the_model_visits_rows() {
    let claim = programs::claim();
    assert!(matches!(claim.statements[0], Statement::Search(Search { row: Some(Mode::U), .. })));
    assert!(matches!(claim.statements[1], Statement::Update(To::InFlight)));
}

#[test]
fn the_model_is_of_a_table_with_leases_beside_it() {
    let spec = r#"{"queue": "Job", "columns": [{"name": "Payload", "type": "text(20)"}], "progress": true,
        "table": {"name": "Work", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
            "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;
    // Reads of rows that are locked with their items, or passed over; which items are gone; whose next attempt is due.
    let beside = ["Job_Lease by key in order", "Job_Lease by key", "search", "search Waiting READPAST"];
    let past = ["Job_Lease by key READPAST in order", "Job_Lease by key READPAST", "Job_Lease search READPAST"];
    // Whether somebody holds the row of an item whose lease is over: nobody is waited for.
    let held = ["search READPAST"];
    let free = [&FREE[..], &beside, &past].concat();
    let claim = || programs::beside(joined(&[programs::recover(), programs::claim()]));
    let purge = [("Purge_Q_trx", programs::beside(programs::purge()))];
    let mut found = differences_of("Work", &script(spec), &free, &purge);
    found.extend(differences_of(
        "Work",
        &script(spec),
        &[&free[..], &held].concat(),
        &[
            ("Next_Q_Set_trx", claim()),
            ("Next_Q_trx", claim()),
            ("Next_Q_utx", programs::beside(joined(&[programs::recover_within(), programs::claim()]))),
            ("Modify_Q_Set_trx", programs::beside(programs::settle_and_claim(&[]))),
            ("Modify_Q_Set_utx", programs::beside(programs::settle_and_claim_within(&[]))),
            ("Modify_Q_trx", programs::beside(programs::settle(&[]))),
            ("Modify_Q_utx", programs::beside(programs::settle(&[]))),
            ("Renew_Q_Set_trx", programs::renew_beside(&[])),
            ("Progress_Q_Set_trx", programs::report_beside(&[])),
            ("Redrive_Q_Set_trx", programs::beside(programs::give_back(&[]))),
            ("Recover_Q_trx", programs::beside(programs::recover())),
        ],
    ));
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}
