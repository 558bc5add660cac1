//! The statements of the model, and those of the rendered SQL: they cannot part.

use super::statement::{self, Program, Statement, To};
use super::world::{Index, Mode};
use crate::tsql::text::{self, Batch, Token, closing, follow};
use readpast::Dialect;
use readpast::ident::Identifier;
use readpast::spec::QueueSpec;

/// How the row of an entry is locked that is not kept itself.
const ROW_OF_ENTRY: &str = "by key UPDLOCK READPAST in order";

/// Each statement of a procedure that touches the queue's table: what it does there, and under which hints.
fn rendered(batch: &Batch, table: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for tokens in batch.statements() {
        let tables = [table, "Job_Lease", "QueueTurn", "QueueRecovery"];
        let is_table =
            |at: &usize| tokens[*at].is_name() && tables.contains(&tokens[*at].text.as_str()) && tokens[at - 1].is(".");
        let places: Vec<_> = (2..tokens.len()).filter(is_table).collect();
        for (number, at) in places.iter().enumerate() {
            let alias = follow(tokens, at + 1, &["AS"]).then(|| tokens[at + 2].text.clone());
            let hints_at = at + if alias.is_some() { 3 } else { 1 };
            let hints = if follow(tokens, hints_at, &["WITH", "("]) {
                &tokens[hints_at + 2..closing(tokens, hints_at + 1) - 1]
            } else {
                &[]
            };
            let Some(line) = describe(tokens, number, alias.as_deref(), hints, table) else { continue };
            let name = &tokens[*at].text;
            let line = if name == table { line } else { format!("{name} {line}") };
            // The table beside itself: an entry, then its row.
            let entry =
                found.last_mut().filter(|entry| number == 1 && entry.starts_with("search") && line == ROW_OF_ENTRY);
            match entry {
                Some(entry) => *entry = format!("{entry}, {line}"),
                None => found.push(line),
            }
        }
    }
    found
}

fn describe(tokens: &[Token], number: usize, alias: Option<&str>, hints: &[Token], table: &str) -> Option<String> {
    let has = |word: &str| hints.iter().any(|token| token.is(word));
    // Reads that lock nothing, and nobody's answer hangs on.
    if has("READUNCOMMITTED") {
        return None;
    }
    let verb = |verb: &str| {
        let at = tokens.iter().position(|token| token.is(verb))?;
        Some((0..3).any(|more| tokens.get(at + 1 + more).is_some_and(|target| Some(target.text.as_str()) == alias)))
    };
    let mut text = if alias.is_none() && number == 0 && tokens.iter().any(|token| token.is("INSERT")) {
        "insert".to_owned()
    } else if verb("UPDATE") == Some(true) {
        "update".to_owned()
    } else if verb("DELETE") == Some(true) {
        "delete".to_owned()
    } else {
        let index = hints.iter().find(|token| token.is_name());
        match index {
            Some(index) => format!("search {}", index.text.replace(&format!("IX_{table}_"), "")),
            None if tokens.iter().any(|token| token.is("JOIN")) => "by key".to_owned(),
            None => "search".to_owned(),
        }
    };
    let is_ordered = (0..tokens.len()).any(|at| follow(tokens, at, &["FORCE", "ORDER"]));
    for hint in ["UPDLOCK", "HOLDLOCK", "READPAST"] {
        if has(hint) {
            text = format!("{text} {hint}");
        }
    }
    let comes_in_order = text == "insert" && (0..tokens.len()).any(|at| follow(tokens, at, &["ORDER", "BY"]));
    if text.starts_with("by key") && is_ordered || comes_in_order {
        text.push_str(" in order");
    }
    Some(text)
}

/// How a statement of the model is rendered.
fn of_model(statement: &Statement) -> Vec<String> {
    vec![match statement {
        Statement::Search { index, mode, readpast, row, .. } => {
            let index = if *index == Index::Row { String::new() } else { format!(" {index:?}") };
            let search = format!("search{index}{}{}", update_lock(*mode), past(*readpast));
            if row.is_some_and(|row| row != *mode) { format!("{search}, {ROW_OF_ENTRY}") } else { search }
        }
        Statement::ByKey { mode, readpast, .. } => format!("by key{}{} in order", update_lock(*mode), past(*readpast)),
        Statement::Update(_) => "update".to_owned(),
        Statement::Delete => "delete".to_owned(),
        Statement::LookUpWork { mode, ranges } => {
            format!("search Work{}{}", update_lock(*mode), if *ranges { " HOLDLOCK" } else { "" })
        }
        Statement::Insert => "insert in order".to_owned(),
        Statement::TakeRow { index: Index::Recovery, readpast, .. } => {
            format!("QueueRecovery update{}", past(*readpast))
        }
        Statement::TakeRow { index, mode, readpast } => {
            format!("Queue{index:?} search{}{}", update_lock(*mode), past(*readpast))
        }
        Statement::LeaveTurn => "QueueRecovery update".to_owned(),
        Statement::Beside(Mode::X) => "Job_Lease written".to_owned(),
        Statement::Beside(mode) => format!("Job_Lease by key{} in order", update_lock(*mode)),
        // In the same statement as the search.
        Statement::FreeOfGroup => return vec!["search Group".to_owned(), "search Held".to_owned()],
    }]
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
fn script(spec: &str) -> Vec<Batch> {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let spec = QueueSpec::from_text(spec).unwrap();
    text::batches(&readpast::render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap(), "Job")
}

/// Where these procedures are others than the programs; `free`: statements that lock nothing that others wait for.
fn differences(batches: &[Batch], free: &[&str], programs: &[(&str, Program)]) -> Vec<String> {
    differences_of("Job", batches, free, programs)
}

fn differences_of(table: &str, batches: &[Batch], free: &[&str], programs: &[(&str, Program)]) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, program) in programs {
        let batch = batches.iter().find(|batch| batch.object == format!("PROCEDURE {name}")).expect(name);
        let mut lines = rendered(batch, table);
        for line in &mut lines {
            // Whether its row is there already is known when its item is locked.
            let written = ["update", "insert", "delete"].iter().any(|verb| *line == format!("Job_Lease {verb}"));
            if written {
                "Job_Lease written".clone_into(line);
            }
            *line = line.replace("search IX_Job_", "search ").replace("Job_Lease search Lease_", "search ");
        }
        lines.retain(|line| !free.contains(&line.as_str()));
        lines.dedup();
        let is_fast = |line: &String| table == "Job" && name.starts_with("Modify") && line == "update";
        if let Some(turn) = lines.iter().position(is_fast) {
            // One item is settled by one update with the fence in its WHERE. It locks what the model's two statements lock
            // for one key, in the same order: the row, then its place in the indexes.
            assert!(turn <= 1, "{name}: {lines:?}");
            lines.remove(turn);
        }
        if lines != program.statements.iter().flat_map(of_model).collect::<Vec<_>>() {
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
const FREE: [&str; 5] =
    ["by key", "by key in order", "by key READPAST in order", "search Due READPAST", "search Ended READPAST"];

#[test]
fn the_model_is_of_the_rendered_sql() {
    let batches = script(SPEC);
    let mut found = differences(
        &batches,
        &FREE,
        &[
            ("Add_Q_Set_trx", statement::add(&[])),
            ("Next_Q_Set_trx", joined(&[statement::recover(), statement::claim()])),
            ("Next_Q_trx", joined(&[statement::recover(), statement::claim()])),
            ("Modify_Q_Set_trx", statement::settle_and_claim(&[])),
            ("Modify_Q_trx", statement::settle(&[])),
            // Within a longer transaction: the same statements, but for the turn to recover.
            ("Next_Q_utx", joined(&[statement::recover_within(), statement::claim()])),
            ("Modify_Q_Set_utx", statement::settle_and_claim_within(&[])),
            ("Modify_Q_utx", statement::settle(&[])),
            ("Renew_Q_Set_trx", statement::renew(&[])),
            ("Redrive_Q_Set_trx", statement::give_back(&[])),
            ("Recover_Q_trx", statement::recover()),
            ("Purge_Q_trx", statement::purge()),
        ],
    );
    // It only reads, more than the model's one index, and passes over what others hold; the model's reader waits for
    // them, as `Find` does. That it gives way is what matters.
    let stats = batches.iter().find(|batch| batch.object == "PROCEDURE Stats_Q").unwrap();
    let changes = |line: &String| line.contains("UPDLOCK") || ["update", "delete", "insert"].contains(&line.as_str());
    assert!(!rendered(stats, "Job").iter().any(changes));
    assert!((0..stats.tokens.len()).any(|at| follow(&stats.tokens, at, &["DEADLOCK_PRIORITY", "LOW"])));
    let (index, reads) = due_index_and_claim(&batches);
    if index != sorted(&statement::DUE_INDEX) {
        found.push(format!("IX_Job_Due has {}", index.join(", ")));
    }
    for column in statement::CLAIM_READS {
        assert!(reads.iter().any(|read| read == column), "the claim reads {column}: {reads:?}");
    }
    let witness: Vec<_> = reads.iter().filter(|column| !index.contains(column) && *column != "Status").collect();
    assert!(!witness.is_empty(), "the index covers the claim");
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}

#[test]
fn the_model_is_of_a_queue_with_groups() {
    let spec =
        r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "text(20)"}], "order": {"group": "Customer"}}"#;
    let claim = || statement::in_groups(joined(&[statement::recover(), statement::claim()]));
    let found = differences(
        &script(spec),
        &FREE,
        &[
            ("Next_Q_Set_trx", claim()),
            ("Next_Q_trx", claim()),
            ("Next_Q_utx", statement::in_groups(joined(&[statement::recover_within(), statement::claim()]))),
            ("Modify_Q_Set_trx", statement::in_groups(statement::settle_and_claim(&[]))),
            ("Modify_Q_Set_utx", statement::in_groups(statement::settle_and_claim_within(&[]))),
            ("Modify_Q_trx", statement::settle(&[])),
            ("Recover_Q_trx", statement::recover()),
        ],
    );
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}

#[test]
fn the_model_is_of_claims_by_kind() {
    let spec = r#"{"queue": "Job", "types": ["A", "B"], "claim_by": ["type"]}"#;
    let free = [&FREE[..], &["search TypeDue READPAST"]].concat();
    let batches = script(spec);
    for (index, other) in [(Index::TypeDue, Index::Due), (Index::Due, Index::TypeDue)] {
        // A claim goes one of the two ways.
        let other = statement::by_one_of(other, statement::claim()).statements[0];
        let other = of_model(&other).remove(0);
        let free = [&free[..], &[&other]].concat();
        let claim = || statement::by_one_of(index, statement::claim());
        let found = differences(
            &batches,
            &free,
            &[
                ("Next_Q_Set_trx", joined(&[statement::recover(), claim()])),
                ("Next_Q_trx", joined(&[statement::recover(), claim()])),
                ("Next_Q_utx", joined(&[statement::recover_within(), claim()])),
                ("Modify_Q_Set_trx", statement::by_one_of(index, statement::settle_and_claim(&[]))),
            ],
        );
        assert!(found.is_empty(), "by {index:?}: the model is of something else; the rendered SQL has {found:#?}");
    }
}

/// The attempts are in no program of the model: each row of them is written and deleted by who has its item locked. So the item
/// comes first, by a statement that locks it to the end of the transaction, and nothing reads them on the way.
#[test]
fn attempts_are_touched_when_their_item_is_locked() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    for completion in ["keep", "delete"] {
        let spec = format!(
            r#"{{"queue": "Job", "columns": [], "attempts": {{"history": true}}, "completion": "{completion}"}}"#
        );
        let spec = QueueSpec::from_text(&spec).unwrap();
        let script = readpast::render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap();
        let mut touching = 0;
        for batch in text::batches(&script, "Job").iter().filter(|batch| batch.object.starts_with("PROCEDURE")) {
            let mut touched = rendered(batch, "Job_Attempt");
            touched.retain(|line| !line.starts_with("QueueRecovery"));
            if touched.is_empty() || batch.object == "PROCEDURE Attempts_Q" {
                continue;
            }
            touching += 1;
            assert!(touched.iter().all(|line| ["insert", "delete"].contains(&line.as_str())), "{touched:?}");
            let statements: Vec<_> = batch.statements().collect();
            let names = |tokens: &[Token], name: &str| tokens.iter().any(|token| token.is_name() && token.text == name);
            let first = statements.iter().position(|tokens| names(tokens, "Job_Attempt")).unwrap();
            let locks = |tokens: &&&[Token]| {
                names(tokens, "Job") && tokens.iter().any(|token| token.is("UPDLOCK") || token.is("UPDATE"))
            };
            assert!(statements[..first].iter().find(locks).is_some(), "{}", batch.object);
        }
        // Next and Modify, for one and for many, alone and within; Recover and Purge.
        assert_eq!(touching, 9, "{completion}");
    }
}

/// Nor are the subtypes: a settlement writes a row of theirs when it has written its item. A reader, who has the item's row and
/// then asks for the subtype's, so waits before it has either.
#[test]
fn subtypes_are_written_after_their_item() {
    let spec = r#"{"queue": "Job", "columns": [{"name": "Note", "type": "text"}], "attempts": {"history": true},
        "subtypes": [{"name": "Email", "columns": [{"name": "Response", "type": "text"}]}]}"#;
    let batches = script(spec);
    let names = |tokens: &[Token], name: &str| tokens.iter().any(|token| token.is_name() && token.text == name);
    for name in ["Modify_Q_Set_trx", "Modify_Q_trx", "Modify_Q_Set_utx", "Modify_Q_utx"] {
        let batch = batches.iter().find(|batch| batch.object == format!("PROCEDURE {name}")).expect(name);
        let statements: Vec<_> = batch.statements().collect();
        let writes =
            |tokens: &[Token], table: &str| names(tokens, table) && tokens.iter().any(|token| token.is("UPDATE"));
        let subtype = statements.iter().position(|tokens| names(tokens, "Job_Email")).expect(name);
        assert!(writes(statements[subtype], "Job_Email"), "{name}");
        let items: Vec<_> = (0..subtype).filter(|at| writes(statements[*at], "Job")).collect();
        // The short way, what is set, and what all settlements write.
        assert_eq!(items.len(), 3, "{name}");
        let attempts = statements.iter().position(|tokens| names(tokens, "Job_Attempt")).expect(name);
        assert!(subtype < attempts, "{name}");
    }
}

/// Recovery is a part of other procedures too, and gives way there no more than they do.
fn joined(programs: &[Program]) -> Program {
    let statements: Vec<_> = programs.iter().flat_map(|program| program.statements.clone()).collect();
    Program::new("", &statements, &[])
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// The columns of the due index, and those that the claim's search reads.
fn due_index_and_claim(batches: &[Batch]) -> (Vec<String>, Vec<String>) {
    let index = batches.iter().find(|batch| batch.object == "INDEX IX_Q_Due").expect("the due index");
    let create = index.tokens.iter().position(|token| token.is("CREATE")).unwrap();
    let tokens = &index.tokens[create..];
    let open = tokens.iter().position(|token| token.is("(")).unwrap();
    let filter = tokens.iter().position(|token| token.is("WHERE")).unwrap();
    let columns: Vec<_> =
        tokens[open..filter].iter().filter(|token| token.is_name()).map(|token| token.text.as_str()).collect();

    let claim = batches.iter().find(|batch| batch.object == "PROCEDURE Next_Q_Set_trx").expect("the claim");
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
    let claim = statement::claim();
    assert!(matches!(claim.statements[0], Statement::Search { row: Some(Mode::U), .. }));
    assert!(matches!(claim.statements[1], Statement::Update(To::InFlight)));
}

#[test]
fn the_model_is_of_a_table_with_leases_beside_it() {
    let spec = r#"{"queue": "Job", "columns": [{"name": "Payload", "type": "text(20)"}],
        "table": {"name": "Work", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
            "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;
    // What is read of rows that are locked with their items; which items are gone; whose next attempt is due.
    let free =
        [&FREE[..], &["Job_Lease by key in order", "Job_Lease by key", "search", "search Waiting READPAST"]].concat();
    let claim = || statement::beside(joined(&[statement::recover(), statement::claim()]));
    let found = differences_of(
        "Work",
        &script(spec),
        &free,
        &[
            ("Next_Q_Set_trx", claim()),
            ("Next_Q_trx", claim()),
            ("Next_Q_utx", statement::beside(joined(&[statement::recover_within(), statement::claim()]))),
            ("Modify_Q_Set_trx", statement::beside(statement::settle_and_claim(&[]))),
            ("Modify_Q_Set_utx", statement::beside(statement::settle_and_claim_within(&[]))),
            ("Modify_Q_trx", statement::beside(statement::settle(&[]))),
            ("Modify_Q_utx", statement::beside(statement::settle(&[]))),
            ("Renew_Q_Set_trx", statement::renew_beside(&[])),
            ("Redrive_Q_Set_trx", statement::beside(statement::give_back(&[]))),
            ("Recover_Q_trx", statement::beside(statement::recover())),
        ],
    );
    assert!(found.is_empty(), "the model is of something else; this is what the rendered SQL has: {found:#?}");
}
