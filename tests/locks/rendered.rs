//! The statements of the model, and those of the rendered SQL: they cannot part.

use crate::statement::{self, Program, Statement, To};
use crate::text::{self, Batch, Token, closing, follow};
use crate::world::{Index, Mode};
use readpast::dialect::Dialect;
use readpast::ident::Identifier;
use readpast::spec::QueueSpec;

/// Each statement of a procedure that touches the queue's table: what it does there, and under which hints.
fn rendered(batch: &Batch, table: &str) -> Vec<String> {
    let mut found = Vec::new();
    for tokens in batch.statements() {
        let is_table = |at: &usize| tokens[*at].is_name() && tokens[*at].text == table && tokens[at - 1].is(".");
        let places: Vec<_> = (2..tokens.len()).filter(is_table).collect();
        for (number, at) in places.iter().enumerate() {
            let alias = follow(tokens, at + 1, &["AS"]).then(|| tokens[at + 2].text.clone());
            let hints_at = at + if alias.is_some() { 3 } else { 1 };
            let hints = if follow(tokens, hints_at, &["WITH", "("]) {
                &tokens[hints_at + 2..closing(tokens, hints_at + 1) - 1]
            } else {
                &[]
            };
            found.extend(describe(tokens, number, alias.as_deref(), hints, table));
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
    if text.starts_with("by key") && is_ordered {
        text.push_str(" in order");
    }
    Some(text)
}

/// How a statement of the model is rendered.
fn of_model(statement: &Statement) -> String {
    match statement {
        Statement::Search { index, mode, readpast, .. } => {
            let index = if *index == Index::Row { String::new() } else { format!(" {index:?}") };
            format!("search{index}{}{}", update_lock(*mode), past(*readpast))
        }
        Statement::ByKey { mode, readpast, .. } => format!("by key{}{} in order", update_lock(*mode), past(*readpast)),
        Statement::Update(_) => "update".to_owned(),
        Statement::Delete => "delete".to_owned(),
        Statement::LookUpWork { mode, ranges } => {
            format!("search Work{}{}", update_lock(*mode), if *ranges { " HOLDLOCK" } else { "" })
        }
        Statement::Insert => "insert".to_owned(),
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

#[test]
fn the_model_is_of_the_rendered_sql() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let script =
        readpast::render::script(Dialect::SqlServer, &schema, Some(&QueueSpec::from_text(SPEC).unwrap())).unwrap();
    let batches = text::batches(&script, "Job");
    let mut differences = Vec::new();
    for (name, program) in [
        ("Add_Q_Set_trx", statement::add(&[])),
        ("Next_Q_Set_trx", joined(&[statement::recover(), statement::claim()])),
        ("Next_Q_trx", joined(&[statement::recover(), statement::claim()])),
        ("Modify_Q_Set_trx", statement::settle_and_claim(&[])),
        ("Modify_Q_trx", statement::settle(&[])),
        // Within a longer transaction: the same statements.
        ("Modify_Q_Set_utx", statement::settle_and_claim(&[])),
        ("Modify_Q_utx", statement::settle(&[])),
        ("Renew_Q_Set_trx", statement::renew(&[])),
        ("Redrive_Q_Set_trx", statement::give_back(&[])),
        ("Recover_Q_trx", statement::recover()),
        ("Purge_Q_trx", statement::purge()),
        ("Stats_Q", statement::stats()),
    ] {
        let batch = batches.iter().find(|batch| batch.object == format!("PROCEDURE {name}")).expect(name);
        let mut lines = rendered(batch, "Job");
        if name == "Stats_Q" {
            // It only reads, more than the model's one index, and passes over what others hold; the model's reader waits for
            // them, as `Find` does. That it gives way is what matters.
            assert!(
                lines
                    .iter()
                    .all(|line| !line.contains("UPDLOCK") && !["update", "delete", "insert"].contains(&line.as_str()))
            );
        } else {
            // Rows that the transaction has locked are read again; a look that passes over locked rows waits for nobody.
            let free = ["by key", "by key in order", "by key READPAST in order", "search Due READPAST"];
            let is_free = |line: &str| free.contains(&line);
            lines.retain(|line| !is_free(line));
            lines.dedup();
            if name.starts_with("Modify") {
                // One item is settled by one update with the fence in its WHERE. It locks what the model's two statements lock
                // for one key, in the same order: the row, then its place in the indexes.
                assert_eq!(lines.remove(0), "update", "{name}");
            }
            if lines != program.statements.iter().map(of_model).collect::<Vec<_>>() {
                differences.push(format!("{name}: {}", lines.join(", ")));
            }
        }
        let gives_way = (0..batch.tokens.len()).any(|at| follow(&batch.tokens, at, &["DEADLOCK_PRIORITY", "LOW"]));
        if program.yields != gives_way {
            differences.push(format!("{name}: {}", if gives_way { "gives way" } else { "does not give way" }));
        }
    }
    let (index, reads) = due_index_and_claim(&batches);
    if index != sorted(&statement::DUE_INDEX) {
        differences.push(format!("IX_Job_Due has {}", index.join(", ")));
    }
    for column in statement::CLAIM_READS {
        assert!(reads.iter().any(|read| read == column), "the claim reads {column}: {reads:?}");
    }
    let witness: Vec<_> = reads.iter().filter(|column| !index.contains(column) && *column != "Status").collect();
    assert!(!witness.is_empty(), "the index covers the claim");
    assert!(
        differences.is_empty(),
        "the model is of something else; this is what the rendered SQL has: {differences:#?}"
    );
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
            let touched = rendered(batch, "Job_Attempt");
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
        assert_eq!(touching, 8, "{completion}");
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
    assert!(matches!(claim.statements[0], Statement::Search { visits_row: true, .. }));
    assert!(matches!(claim.statements[1], Statement::Update(To::InFlight)));
}
