//! `make verify-sqlserver`: what no stand-in can show, on a real SQL Server or Azure SQL database server, in about ten minutes.
//!
//! It makes a database of its own on the server that READPAST_TEST_SQLSERVER names (an ODBC connection string), drops it at the
//! end, touches nothing else, and writes one report (READPAST_VERIFY_REPORT, else target/verify-sqlserver.md). READPAST_VERIFY_ITEMS
//! says how many items the races are about.

mod callers;
mod locks;
mod place;
mod plans;
mod races;
mod report;
mod text;

use place::Place;
use report::Report;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Ok(server) = env::var("READPAST_TEST_SQLSERVER") else {
        eprintln!(
            "verify: set READPAST_TEST_SQLSERVER to the ODBC connection string of a server to make a scratch database on"
        );
        return ExitCode::from(2);
    };
    let items = env::var("READPAST_VERIFY_ITEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let path = env::var("READPAST_VERIFY_REPORT").unwrap_or_else(|_| "target/verify-sqlserver.md".to_owned());
    let mut report = Report::default();
    let mut written = Ok(false);
    let place = match Place::new(server) {
        Ok(place) => place,
        Err(error) => {
            eprintln!("verify: no scratch database: {error}");
            return ExitCode::from(2);
        }
    };
    for (name, part) in [
        ("doctor", doctor as fn(&Place, &mut Report, usize) -> readpast::Result<()>),
        ("plans", |place, report, _| plans::run(place, report)),
        ("locks", |place, report, _| locks::run(place, report)),
        ("text in a code page", |place, report, _| text::run(place, report)),
        ("callers", |place, report, _| callers::run(place, report)),
        ("races", races::run),
        ("doctor, after it all", doctor),
    ] {
        // One part that fails keeps none of the others out of the report.
        if let Err(error) = part(&place, &mut report, items) {
            report.expect(false, format!("{name} could not be finished: {error}"));
        }
        // The report so far stays when somebody ends it early.
        written = report.write(&path);
    }
    match written {
        Ok(is_sound) => {
            println!(
                "{path}: {}",
                if is_sound { "all is as it should be" } else { "see \"Not as it should be\" at its head" }
            );
            if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("verify: {path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn doctor(place: &Place, report: &mut Report, _items: usize) -> readpast::Result<()> {
    report.chapter("What readpast doctor says");
    for finding in readpast::doctor::check(&place.config("doctor")?, Some(place::QUEUE))? {
        report.line(format!("- {finding}"));
    }
    Ok(())
}
