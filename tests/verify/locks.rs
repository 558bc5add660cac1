//! The locks of a claim, a settle and a renewal when they write: a trigger looks, inside their transaction.

use crate::place::Place;
use crate::report::{Report, cell};
use readpast::Result;
use readpast::item::{Action, Settlement};
use std::time::Duration;

pub fn run(place: &Place, report: &mut Report) -> Result<()> {
    report.chapter("Locks held at the moment of writing");
    if let Err(error) = place.execute("SELECT COUNT(*) FROM sys.dm_tran_locks") {
        report.unseen("sys.dm_tran_locks", error);
        return Ok(());
    }
    place.execute(
        "CREATE TABLE dbo.LockSeen (Written int NOT NULL, Kind nvarchar(60) NOT NULL, Mode nvarchar(60) NOT NULL, Locks int NOT NULL)",
    )?;
    place.execute(
        "CREATE TRIGGER [readpast].[Look] ON [readpast].[Job] AFTER UPDATE AS BEGIN SET NOCOUNT ON; \
         INSERT INTO dbo.LockSeen (Written, Kind, Mode, Locks) \
         SELECT (SELECT COUNT(*) FROM inserted), l.resource_type, l.request_mode, COUNT(*) FROM sys.dm_tran_locks AS l \
         WHERE l.request_session_id = @@SPID AND l.resource_database_id = DB_ID() GROUP BY l.resource_type, l.request_mode; END",
    )?;
    for count in [1_u32, 100, 1000] {
        place.empty()?;
        place.fill(2000)?;
        let queue = place.queue("locks")?;
        let batch = queue.claim(count, Duration::ZERO)?;
        told(place, report, "claim", batch.len())?;
        queue.renew(&batch.iter().map(readpast::item::Lease::from).collect::<Vec<_>>())?;
        told(place, report, "renewal", batch.len())?;
        let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&ends, None)?;
        told(place, report, "settle", batch.len())?;
    }
    place.execute("DROP TRIGGER [readpast].[Look]").map(drop)
}

fn told(place: &Place, report: &mut Report, what: &str, items: usize) -> Result<()> {
    let rows = place.execute(
        "SELECT Kind, Mode, MAX(Locks), MAX(Written) FROM dbo.LockSeen GROUP BY Kind, Mode ORDER BY Kind, Mode",
    )?;
    report.line(format!("\n{what} of {items}: kind, mode, locks, rows written\n"));
    report.rows(&rows, 4);
    let find = |kind: &str, modes: &[&str]| -> usize {
        let fits = |row: &usize| cell(&rows, *row, 0) == kind && modes.contains(&cell(&rows, *row, 1).as_str());
        (0..rows.len()).filter(fits).map(|row| cell(&rows, row, 2).parse().unwrap_or(0)).sum()
    };
    report.expect(find("PAGE", &["S", "U", "X"]) == 0, format!("the {what} of {items} locks no page"));
    report.expect(find("OBJECT", &["S", "U", "X", "SIX"]) == 0, format!("the {what} of {items} locks no table"));
    report.expect(
        find("KEY", &["RangeS-S", "RangeS-U", "RangeX-X"]) == 0,
        format!("the {what} of {items} locks no range"),
    );
    let keys = find("KEY", &["U", "X"]);
    // The row, its entry in each index that it leaves or enters, and what is beside the queue's table.
    let most = items * 5 + 10;
    report.expect(keys <= most, format!("the {what} of {items} locks {keys} keys, no more than {most}"));
    place.execute("DELETE FROM dbo.LockSeen").map(drop)
}
