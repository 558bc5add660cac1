//! Text in a code page: what a producer gives and a column would keep as ? is refused, and a response is written all the same.

use crate::place::Place;
use crate::report::{Report, cell};
use readpast::item::{Columns, NewItem};
use readpast::{Action, Queue, QueueSpec, Result, Settlement, install};
use serde_json::json;
use std::time::Duration;

/// A Greek and a Latin column, each in a code page that lacks the letters of the other, and one whose collation keeps all.
const TABLE: &str = "CREATE TABLE dbo.Coded (Id bigint IDENTITY PRIMARY KEY, State int NOT NULL DEFAULT 0, \
     Latin varchar(20) COLLATE Latin1_General_CI_AS NULL, Greek varchar(max) COLLATE Greek_CI_AS NULL, Every nvarchar(20) NULL, \
     Said varchar(40) COLLATE Latin1_General_CI_AS NULL)";

const SPEC: &str = r#"{"queue": "Coded", "columns": [{"name": "Latin", "type": "text(20)"}, {"name": "Greek", "type": "text"},
    {"name": "Every", "type": "text(20)"}], "table": {"schema": "dbo", "name": "Coded", "key": ["Id"], "lifecycle": {"response": "Said"},
    "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;

const GREEK: &str = "\u{3b1}\u{3b2}?";
const LATIN: &str = "\u{e9}\u{e8}?";

pub fn run(place: &Place, report: &mut Report) -> Result<()> {
    report.chapter("Text in a code page");
    place.execute(TABLE)?;
    install::install(&place.config("installer")?, Some(&QueueSpec::from_json(SPEC)?))?;
    let queue = Queue::open(&place.config("coded")?, "Coded")?;
    for (column, text, is_kept) in [
        ("Latin", LATIN, true),
        ("Latin", GREEK, false),
        ("Greek", GREEK, true),
        ("Greek", "\u{e9}", false),
        ("Every", GREEK, true),
        ("Latin", "\u{1f600}", false),
    ] {
        let columns = Columns::from_json(&json!({column: text}).to_string())?;
        let added = queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).map(drop);
        let is_right = match &added {
            Ok(()) => is_kept,
            Err(error) => !is_kept && error.message().contains(&format!("\"columns.{column}\" has letters")),
        };
        report.expect(is_right, format!("{text} for the column {column}: {added:?}"));
    }

    let batch = queue.claim(1, Duration::ZERO)?;
    let Some(item) = batch.get(0) else {
        report.expect(false, "an item with Latin letters can be claimed");
        return Ok(());
    };
    let set = json!({"Latin": GREEK}).to_string();
    let done = Settlement { response: Some(GREEK), ..Settlement::new(&item, Action::Complete) };
    let refused = queue.settle(&[Settlement { set: Some(&set), ..done.clone() }], None).map(drop);
    report.expect(
        refused.as_ref().is_err_and(|error| error.message().contains("\"set.Latin\" has letters")),
        format!("values to set that its column lacks: {refused:?}"),
    );
    let ended = queue.settle(&[done], None).map(drop);
    report.expect(ended.is_ok(), format!("a response that its column cannot keep ends the item: {ended:?}"));
    let said = place.execute("SELECT Said FROM dbo.Coded WHERE State = 2")?;
    report.line(format!("The response that was kept: {}", cell(&said, 0, 0)));
    Ok(())
}
