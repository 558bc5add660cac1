//! Checks the server, and the settings of the database and the session.

use super::{Examined, Finding};
use crate::catalog::{self, ServerFacts};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::install::encoding;

pub(super) fn check(examined: &mut Examined) -> Result<()> {
    let facts = catalog::server_facts(&mut examined.session)?;
    match examined.session.dialect() {
        Dialect::SqlServer => sql_server(&facts, &mut examined.findings),
        Dialect::Postgres => postgres(&facts, &mut examined.findings),
    }
    Ok(())
}

fn sql_server(facts: &ServerFacts, findings: &mut Vec<Finding>) {
    let version = facts.get("version");
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    // Azure SQL reports 12 for ever; its engine editions are 5 and up.
    let azure = facts.number("engine_edition").is_some_and(|edition| edition >= 5);
    let shown = format!("{} ({})", version, facts.get("edition"));
    findings.push(if azure || major >= 13 {
        Finding::ok("version", "server", format!("version {shown}"))
    } else {
        let what = format!("version {shown}; readpast relies on what came with SQL Server 2016 SP1 (13)");
        Finding::warning("version", "server", what, "use SQL Server 2016 or later, or Azure SQL")
    });
    let database = facts.get("database");
    if let Some(level) = facts.number("compatibility_level") {
        findings.push(if level >= 130 {
            Finding::ok("compatibility", database, format!("compatibility level {level}"))
        } else {
            let what =
                format!("compatibility level {level}; OPENJSON, which every set-based call reads with, needs 130");
            let remedy = "raise it: ALTER DATABASE ... SET COMPATIBILITY_LEVEL = 130 (or higher)";
            Finding::error("compatibility", database, what, remedy)
        });
    }
    let rcsi = facts.number("read_committed_snapshot") == Some(1);
    let what = if rcsi {
        "READ_COMMITTED_SNAPSHOT is on: readers do not wait for workers; claims ask for locks by hints and do not need it off"
    } else {
        "READ_COMMITTED_SNAPSHOT is off: readers of a queue's table wait for workers that are writing to it"
    };
    findings.push(if rcsi {
        Finding::ok("isolation", database, what)
    } else {
        let remedy = "consider turning it on; readpast works either way";
        Finding::warning("isolation", database, what, remedy)
    });
    findings.push(match facts.number("isolation_level") {
        Some(2) | None => Finding::ok("isolation", "session", "READ COMMITTED"),
        Some(level) => {
            let what =
                format!("the session's isolation level is {level}, and not READ COMMITTED (2): READPAST fails then");
            Finding::error("isolation", "session", what, "see what sets it behind the driver")
        }
    });
    if facts.number("read_only") == Some(1) {
        findings.push(Finding::error(
            "storage",
            database,
            "the database is read-only",
            "connect to one that is writable",
        ));
    }
    if facts.number("delayed_durability") == Some(2) {
        let what = "DELAYED_DURABILITY is FORCED: a crash of the server can lose the last settles, and items are worked on twice";
        let remedy = "ALTER DATABASE ... SET DELAYED_DURABILITY = ALLOWED (or DISABLED)";
        findings.push(Finding::warning("durability", database, what, remedy));
    }
    if facts.number("optimized_locking") == Some(1) {
        let what =
            "optimized locking is on: the claim's hints are honoured, and keep row locks to the commit as without it";
        findings.push(Finding::ok("isolation", database, what));
    }
    for option in ["quoted_identifier", "ansi_nulls", "arithabort", "ansi_warnings", "ansi_padding", "concat_null"] {
        if facts.number(option) == Some(0) {
            let what = format!("{option} is off in the session: filtered indexes can then be neither used nor written");
            findings.push(Finding::error("session", "session", what, "see what sets it behind the driver"));
        }
    }
    login(facts, findings);
}

fn postgres(facts: &ServerFacts, findings: &mut Vec<Finding>) {
    let number = facts.number("version_num").unwrap_or(0);
    let shown = facts.get("version");
    findings.push(if number >= 130_000 {
        Finding::ok("version", "server", format!("version {shown}"))
    } else {
        let what = format!("version {shown}, which readpast is not tested with");
        Finding::warning("version", "server", what, "use PostgreSQL 13 or later")
    });
    let database = facts.get("database");
    if facts.get("in_recovery") == "t" || facts.get("in_recovery") == "true" {
        findings.push(Finding::error(
            "storage",
            database,
            "the server is a standby, and read-only",
            "connect to the primary",
        ));
    }
    let level = facts.get("isolation_level");
    findings.push(if level == "read committed" {
        Finding::ok("isolation", "session", "READ COMMITTED")
    } else {
        let what =
            format!("the session's isolation level is {level}: claims would fail instead of passing over locked rows");
        Finding::error("isolation", "session", what, "see what sets it behind the driver")
    });
    findings.extend(encoding::check(facts));
    if facts.get("synchronous_commit") == "off" {
        let what =
            "synchronous_commit is off: a crash of the server can lose the last settles, and items are worked on twice";
        findings.push(Finding::warning("durability", database, what, "turn it on for the workers' logins"));
    }
    login(facts, findings);
}

fn login(facts: &ServerFacts, findings: &mut Vec<Finding>) {
    let what = format!("checked as {} in the database {}", facts.get("login"), facts.get("database"));
    findings.push(Finding::ok("login", facts.get("login"), what));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    fn found(facts: &[(&str, &str)]) -> Vec<Finding> {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut findings = Vec::new();
        sql_server(&ServerFacts(facts), &mut findings);
        findings
    }

    #[test]
    fn durability_and_optimized_locking_are_reported_where_they_matter() {
        for (value, warns) in [("0", false), ("1", false), ("2", true)] {
            let findings = found(&[("delayed_durability", value)]);
            let warned = findings.iter().any(|f| f.check == "durability" && f.severity == Severity::Warning);
            assert_eq!(warned, warns, "{value}");
        }
        for (value, tells) in [("0", false), ("", false), ("1", true)] {
            let findings = found(&[("optimized_locking", value)]);
            assert_eq!(findings.iter().any(|f| f.what.contains("optimized locking is on")), tells, "{value}");
        }
    }
}
