//! Attempts that are remembered, and rows that go after their time: the programs of the model, and the rendered SQL.

use super::programs::{self, deleting, remembering, retain, retain_attempts};
use super::rendered::{FREE, differences, differences_of, joined, script, whole};
use super::statement::Program;
use crate::tsql::text::Token;

/// Within a longer transaction recoveries take no turn.
fn claims() -> [(&'static str, Program); 3] {
    let claim = |recover: Program| remembering(joined(&[recover, programs::claim()]));
    [
        ("Next_Q_Set_trx", claim(programs::recover())),
        ("Next_Q_trx", claim(programs::recover())),
        ("Next_Q_utx", claim(programs::recover_within())),
    ]
}

#[test]
fn the_model_is_of_a_queue_that_remembers_attempts() {
    for completion in ["keep", "delete"] {
        let spec = format!(
            r#"{{"queue": "Job", "columns": [], "attempts": {{"history": true}}, "completion": "{completion}"}}"#
        );
        let settling = |program: Program| remembering(if completion == "delete" { deleting(program) } else { program });
        let others = [
            ("Modify_Q_Set_trx", settling(programs::settle_and_claim(&[]))),
            ("Modify_Q_trx", settling(programs::settle(&[]))),
            ("Modify_Q_Set_utx", settling(programs::settle_and_claim_within(&[]))),
            ("Modify_Q_utx", settling(programs::settle(&[]))),
            ("Recover_Q_trx", remembering(programs::recover())),
            ("Purge_Q_trx", remembering(programs::purge())),
            ("Attempts_Q", programs::attempts(&[])),
            // These end no attempt, and leave what is remembered.
            ("Renew_Q_Set_trx", programs::renew(&[])),
            ("Redrive_Q_Set_trx", programs::redrive(&[])),
        ];
        let found = differences(&script(&spec), &FREE, &[&claims()[..], &others[..]].concat());
        assert!(found.is_empty(), "{completion}: this is what the rendered SQL has: {found:#?}");
    }
}

/// Each rule looks for its items by one of the two searches; where there are both, all is looked for before anything is locked.
#[test]
fn the_model_is_of_what_deletes_what_ended_long_ago() {
    let completed = || retain(programs::PURGE);
    let failed = || retain(programs::PURGE_ENDED);
    let free =
        |with_ended: bool| FREE.into_iter().filter(|line| with_ended || !line.contains("Ended")).collect::<Vec<_>>();
    for (retention, with_ended, program) in [
        (r#""completed": "30d""#, false, completed()),
        (r#""failed": "365d", "cancelled": "12h""#, false, failed()),
        (r#""completed": "30d", "failed": "365d""#, true, completed()),
        (r#""completed": "30d", "history": "7d""#, false, retain_attempts(remembering(completed()))),
        (r#""failed": "365d", "history": "7d""#, false, retain_attempts(remembering(failed()))),
        (r#""history": "7d""#, false, retain_attempts(programs::retain_nothing())),
    ] {
        let history = retention.contains("history");
        let spec = format!(
            r#"{{"queue": "Job", "columns": [], "attempts": {{"history": {history}}}, "retention": {{{retention}}}}}"#
        );
        let found = differences(&script(&spec), &free(with_ended), &[("Retain_Q_trx", program)]);
        assert!(found.is_empty(), "{retention}: this is what the rendered SQL has: {found:#?}");
    }
}

/// Items that somebody else's procedure has claimed are counted, and an attempt that it broke off remembered, as a settlement does.
#[test]
fn the_model_is_of_claims_by_others() {
    let spec = r#"{"queue": "Job", "columns": [], "procedures": {"next": "Take"}, "lease": {"kind": "fixed"},
        "attempts": {"history": true}, "table": {"name": "Work", "key": [{"name": "Id", "type": "bigint"}],
            "states": {"Pending": {"Done": 0, "Began": {"is": "null"}}, "Processing": {"Done": 0, "Began": {"is": "set"}},
                "Completed": {"Done": 1}},
            "lifecycle": {"started": "Began", "owner": "By"}}}"#;
    let free = [&FREE[..], &["Job_Lease by key in order", "Job_Lease by key READPAST in order"]].concat();
    let taken = remembering(programs::beside(programs::settle(&[])));
    let found = differences_of("Work", &script(spec), &free, &[("Taken_Q_trx", taken)]);
    assert!(found.is_empty(), "this is what the rendered SQL has: {found:#?}");
}

/// The subtypes are in no program of the model: a settlement writes a row of theirs when it has written its item. A reader, who
/// has the item's row and then asks for the subtype's, so waits before it has either.
#[test]
fn subtypes_are_written_after_their_item() {
    let spec = r#"{"queue": "Job", "columns": [{"name": "Note", "type": "text"}], "attempts": {"history": true},
        "subtypes": [{"name": "Email", "columns": [{"name": "Response", "type": "text"}]}]}"#;
    let batches = script(spec);
    let names = |tokens: &[Token], name: &str| tokens.iter().any(|token| token.is_name() && token.text == name);
    for name in ["Modify_Q_Set_trx", "Modify_Q_trx", "Modify_Q_Set_utx", "Modify_Q_utx"] {
        let batch = whole(&batches, name);
        let statements: Vec<_> = batch.statements().collect();
        let writes =
            |tokens: &[Token], table: &str| names(tokens, table) && tokens.iter().any(|token| token.is("UPDATE"));
        let subtype = statements.iter().position(|tokens| names(tokens, "Job_Email")).expect(name);
        assert!(writes(statements[subtype], "Job_Email"), "{name}");
        let items: Vec<_> = (0..subtype).filter(|at| writes(statements[*at], "Job")).collect();
        // Values that are set, and those that all settlements write.
        assert_eq!(items.len(), 2, "{name}");
        let attempts = statements.iter().position(|tokens| names(tokens, "Job_Attempt")).expect(name);
        assert!(subtype < attempts, "{name}");
    }
}
