//! Checks hand-written procedures: whether they can be called, and which promises they cannot keep.

use super::{Examined, Finding};
use crate::catalog::{self, Meaning, ProcedureCall, QueueShape, flag, optional_text};
use crate::description::{ClaimedBySpec, ProceduresSpec, QueueSpec, TableSpec};
use crate::dialect::Dialect;
use crate::error::{ErrorKind, Result};
use crate::session::Param;

pub(super) fn check(examined: &mut Examined, spec: &QueueSpec, procedures: &ProceduresSpec) -> Result<()> {
    let queue = spec.queue.as_str();
    let shape = match catalog::shape(&mut examined.session, spec, procedures) {
        Ok(shape) => shape,
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => {
            let remedy = "correct the description, or the procedures";
            examined.findings.push(Finding::error("procedures", queue, error.message(), remedy));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    examined.findings.push(Finding::ok("procedures", queue, "procedures, parameters and view are there"));
    for call in [Some(&shape.next), Some(&shape.modify), shape.add.as_ref()].into_iter().flatten() {
        code(examined, procedures.local_time, call)?;
    }
    limits(&mut examined.findings, queue, procedures, &shape);
    Ok(())
}

/// Checks a custom claim procedure.
pub(super) fn check_claimer(
    examined: &mut Examined,
    spec: &QueueSpec,
    table: &TableSpec,
    claimed_by: &ClaimedBySpec,
) -> Result<()> {
    let queue = spec.queue.as_str();
    let call = match catalog::claimer(&mut examined.session, table, claimed_by) {
        Ok(call) => call,
        Err(error) if error.kind() == ErrorKind::SchemaMismatch => {
            let remedy = "correct the description, or the procedure";
            examined.findings.push(Finding::error("procedures", queue, error.message(), remedy));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    examined.findings.push(Finding::ok("procedures", queue, "the procedure that claims is there"));
    code(examined, table.local_time, &call)?;
    let own = "leave \"procedures\" out of the description, where this matters, and readpast's own claim is used";
    let mut say = |what: &str| examined.findings.push(Finding::warning("hand-written", queue, what, own));
    say(
        "the procedure commits before it answers: when the answer is lost, the item stays locked for as long as the lock of a dead \
         worker does, and only then goes to another",
    );
    say(
        "which item comes next, and when a lock is broken, the procedure decides: lease.ms must be its time, a retry's delay \
         that is longer than that is cut short, and what is paused or cancelled is locked again in vain each time it passes",
    );
    say("each item takes two calls to claim, and a commit for each; a claim takes one item, whatever is asked for");
    Ok(())
}

/// Checks one procedure: its text, where the login may see it, and the rights on it.
fn code(examined: &mut Examined, local_time: bool, call: &ProcedureCall) -> Result<()> {
    let dialect = examined.session.dialect();
    let object = format!("{}.{}", call.procedure.schema, call.procedure.name);
    if !call.unknown.is_empty() {
        let what = format!(
            "has the parameters {}, whose meaning readpast does not know: it leaves them out",
            call.unknown.join(", ")
        );
        examined.findings.push(Finding::warning("procedures", &object, what, "give these parameters defaults"));
    }
    let params = [Param::Text(&call.procedure.schema), Param::Text(&call.procedure.name)];
    let rows = examined.session.execute(&dialect.query("ask/code")?, &params)?;
    if !rows.is_empty() && !flag(&rows, 0, 0) {
        let what = "this login may not execute it";
        examined.findings.push(Finding::error("permission", &object, what, "grant it the right to execute it"));
    }
    for (option, column) in [("ANSI_NULLS", 1), ("QUOTED_IDENTIFIER", 2)] {
        if !rows.is_empty() && !flag(&rows, 0, column) {
            let what =
                format!("was created with {option} OFF: it fails once its table has a filtered index (error 1934)");
            examined.findings.push(Finding::warning(
                "set-options",
                &object,
                what,
                "create it again with the option on",
            ));
        }
    }
    let Some(text) = optional_text(&rows, 0, 3).map(|text| text.to_uppercase()) else {
        let what = "this login cannot see its text, so it is not checked";
        examined.findings.push(Finding::ok("procedures", object, what));
        return Ok(());
    };
    if dialect == Dialect::SqlServer {
        if !text.contains("NOCOUNT") {
            let what = "does not SET NOCOUNT ON: each of its statements sends a count of rows. readpast's sessions have it on, \
                        which the procedure inherits; other callers see the counts";
            examined.findings.push(Finding::warning("procedures", &object, what, "let it begin with SET NOCOUNT ON"));
        }
        if !text.contains("XACT_ABORT") {
            let what = "does not SET XACT_ABORT ON: a time-out in the middle leaves its transaction open, with its locks, on a \
                        connection that does not have it on; readpast's have";
            examined.findings.push(Finding::warning(
                "procedures",
                &object,
                what,
                "let it begin with SET XACT_ABORT ON",
            ));
        }
        if text.contains("RAISERROR(5") || text.contains("RAISERROR (5") {
            let what = "raises errors by number: without sp_addmessage, which needs rights on the server and is not there on \
                        Azure SQL, the caller gets error 18054 instead of the text. readpast reads the number out of that";
            examined.findings.push(Finding::warning("procedures", &object, what, "use THROW, which needs no message"));
        }
        let reads_past = text.contains("READPAST");
        if reads_past && !text.contains("READ COMMITTED") {
            let what = "uses READPAST and does not set the isolation level: in a session at SNAPSHOT or SERIALIZABLE it fails \
                        (error 650). readpast's sessions are at READ COMMITTED";
            let remedy = "let it begin with SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
            examined.findings.push(Finding::warning("procedures", &object, what, remedy));
        }
    }
    let locals = ["SYSDATETIME()", "GETDATE()", "LOCALTIMESTAMP", "CURRENT_TIMESTAMP"];
    let says_local = locals.iter().any(|word| text.contains(word));
    if says_local && !local_time {
        let what = "goes by the server's local time, and the description says procedures.time = \"utc\": due times come hours off";
        examined.findings.push(Finding::error("time", &object, what, "say time = \"local\""));
    } else if says_local && dialect == Dialect::SqlServer {
        let what = "goes by the server's local time: when clocks are set back an hour, due times and durations are an hour off";
        examined.findings.push(Finding::warning(
            "time",
            &object,
            what,
            "use SYSUTCDATETIME(), and time = \"utc\" here",
        ));
    }
    let says_utc = ["SYSUTCDATETIME()", "GETUTCDATE()"].iter().any(|word| text.contains(word));
    if says_utc && !says_local && local_time && call.takes(Meaning::Due) {
        let what =
            "goes by UTC, and the description says procedures.time = \"local\" (or nothing): due times come hours off";
        examined.findings.push(Finding::error("time", &object, what, "say time = \"utc\""));
    }
    Ok(())
}

/// The limits of every such queue, whatever its text.
fn limits(findings: &mut Vec<Finding>, queue: &str, procedures: &ProceduresSpec, shape: &QueueShape) {
    let adopt = "adopt the table instead, where this matters";
    let mut say = |what: &str, remedy: &str| findings.push(Finding::warning("hand-written", queue, what, remedy));
    if !shape.next.takes(Meaning::LeaseMs) {
        say(
            "there is no lease: the items of a worker that dies stay Processing until an operator sets them back, and \
             only the token keeps a worker that seemed dead from settling an item that another has",
            "watch for items that are Processing for too long, and set them back with Modify_; or adopt the table",
        );
    }
    say(
        "there is no record of operations: when an answer is lost, readpast calls again with the same token and reads \
         the item back, and where that does not show the outcome, the call ends as OutcomeUnknown. An item whose \
         claim was lost stays Processing; an enqueue whose answer was lost is never repeated",
        adopt,
    );
    say(
        "each item takes a call and a commit of its own to claim and another to settle: a batch is no one transaction, and the \
         rate is that of round trips and commits",
        adopt,
    );
    say(
        "there are no renewals, recoveries, redrives, searches or purges, and released items count as attempts: such calls end \
         as Unsupported",
        adopt,
    );
    if shape.token.family == catalog::TypeFamily::CoarseTime {
        say(
            "the token goes in steps of 3.33 ms: two changes within one step leave the same token, and the second is not noticed",
            "make the column datetime2(7), and let every change add a tick at least",
        );
    } else if shape.token.family.is_time() {
        say(
            "the token is the time of the change: the server's clock may stand still for some milliseconds, and two changes \
             within one tick leave the same token",
            "let every change make it later than it was: DATEADD(NANOSECOND, 100, UpdatedAt) where the clock has not moved",
        );
    }
    if procedures.add.is_none() {
        findings.push(Finding::ok(
            "hand-written",
            queue,
            "no procedures.add is named, so nothing is enqueued through readpast",
        ));
    }
}
