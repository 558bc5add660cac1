//! Checks the server's cached plans for the procedures of a queue: whether one reads all of the table, or locks more rows than it
//! claims.

use super::{Examined, Finding};
use crate::catalog::{number, optional_text, text};
use crate::session::Param;
use std::collections::BTreeSet;

/// The cost of each deviation, by its text in the plan.
const DEVIATIONS: [(&str, &str); 7] = [
    (r#"PhysicalOp="Clustered Index Scan""#, "scans the table"),
    (r#"PhysicalOp="Table Scan""#, "scans the table"),
    (r#"PhysicalOp="Hash Match""#, "joins by hash: it locks rows that it does not take"),
    (r#"PhysicalOp="Merge Join""#, "joins by merge: it locks rows that it does not take"),
    (r#"WithOrderedPrefetch="true""#, PREFETCH),
    (r#"WithOrderedPrefetch="1""#, PREFETCH),
    (r#"WithUnorderedPrefetch="#, "reads ahead out of order: rows are not locked in the order of the keys"),
];

const PREFETCH: &str = "reads ahead: it locks rows that it does not take";

/// Checks the plans of the calls that workers and producers wait for. Find, Purge and Stats read much by design.
pub(super) fn check(examined: &mut Examined, queue: &str, schema: &str, table: &str) {
    let mut seen = false;
    let mut reported = BTreeSet::new();
    let mut refused = None;
    for query in ["ask/plans_cached", "ask/plans_stored"] {
        let dialect = examined.session.dialect();
        let params = [Param::Text(examined.schema.as_str())];
        let rows = match dialect.query(query).and_then(|query| examined.session.execute(&query, &params)) {
            Ok(rows) => rows,
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        for row in 0..rows.len() {
            let procedure = text(&rows, row, 0);
            let Some(plan) = optional_text(&rows, row, 3).filter(|_| is_waited_for(&procedure, queue)) else {
                continue;
            };
            seen = true;
            for deviation in deviations(&plan, schema, table) {
                let (calls, reads) = (number(&rows, row, 1).unwrap_or(0), number(&rows, row, 2).unwrap_or(0));
                if reported.insert((procedure.clone(), deviation)) {
                    let what = format!("{deviation} ({calls} calls, {reads} pages read by each)");
                    let remedy = "see \"The plan of each statement\" in docs/locks.md: mend the index, update the \
                                  statistics, then sp_recompile the procedure";
                    examined.findings.push(Finding::warning("plan", &procedure, what, remedy));
                }
            }
        }
    }
    if reported.is_empty() {
        let what = match refused {
            _ if seen => "the plans that the server keeps seek, and read nothing ahead".to_owned(),
            Some(error) => format!("the server's plans cannot be seen by this login ({})", error.message()),
            None => "the server keeps no plan of its procedures at the moment".to_owned(),
        };
        examined.findings.push(Finding::ok("plan", queue, what));
    }
}

fn is_waited_for(procedure: &str, queue: &str) -> bool {
    let inner = procedure.strip_prefix(queue);
    inner.is_some_and(|rest| ["_Add", "_Settle", "_Claim", "_Recover"].contains(&rest))
        || ["Add_", "Renew_"].iter().any(|verb| {
            let rest = procedure.strip_prefix(verb).and_then(|rest| rest.strip_prefix(queue));
            rest.is_some_and(|rest| ["_trx", "_utx", "_Set_trx"].contains(&rest))
        })
}

/// The deviations in a plan (showplan XML), of the statements on the table. A scan counts if it is one of the table itself: a
/// filtered index may well be read from its beginning. An UPDATE may read ahead: its rows were locked before it.
#[must_use]
pub fn deviations(plan: &str, schema: &str, table: &str) -> BTreeSet<&'static str> {
    let bracketed = |name: &str| escaped(&format!("[{}]", name.replace(']', "]]")));
    let (schema, table) = (format!("Schema=\"{}\"", bracketed(schema)), format!("Table=\"{}\"", bracketed(table)));
    let is_of_table = |part: &str| {
        part.split("<Object ").skip(1).any(|object| {
            let object = object.split('>').next().unwrap_or_default();
            object.contains(&schema) && object.contains(&table)
        })
    };
    let mut found = BTreeSet::new();
    for statement in plan.split("<StmtSimple ").skip(1).filter(|statement| is_of_table(statement)) {
        let is_update = statement.split('>').next().is_some_and(|head| head.contains(r#"StatementType="UPDATE""#));
        // An operator with its attributes; the operators below it follow.
        for operator in statement.split("<RelOp ").skip(1) {
            let met = DEVIATIONS.iter().filter(|(mark, what)| {
                operator.contains(mark)
                    && (!what.starts_with("scans") || is_of_table(operator))
                    && !(is_update && mark.contains("Prefetch"))
            });
            found.extend(met.map(|(_, what)| *what));
        }
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(loops: &str, first: &str, table: &str) -> String {
        format!(
            r#"<ShowPlanXML><StmtSimple StatementId="1"><RelOp NodeId="0" PhysicalOp="Clustered Index Scan"><IndexScan><Object Table="[@Due]"/></IndexScan></RelOp></StmtSimple>
            <StmtSimple StatementId="2"><RelOp NodeId="1" PhysicalOp="Nested Loops"><NestedLoops {loops}>
            <RelOp NodeId="2" PhysicalOp="{first}"><IndexScan Ordered="true"><Object Database="[d]" Schema="[dbo]" Table="{table}" Index="[IX]"/></IndexScan></RelOp>
            <RelOp NodeId="3" PhysicalOp="Clustered Index Seek"><IndexScan><Object Database="[d]" Schema="[dbo]" Table="{table}" Index="[PK]"/></IndexScan></RelOp>
            </NestedLoops></RelOp></StmtSimple></ShowPlanXML>"#
        )
    }

    #[test]
    fn deviations_are_found() {
        let of = |loops: &str, first: &str| {
            deviations(&plan(loops, first, "[Job]"), "dbo", "Job").into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(r#"Optimized="false""#, "Index Seek"), [""; 0]);
        assert_eq!(of("", "Index Scan"), [""; 0], "a filtered index from its beginning");
        assert_eq!(of("", "Clustered Index Scan"), ["scans the table"]);
        assert_eq!(of(r#"WithOrderedPrefetch="true""#, "Index Seek"), [PREFETCH]);
        assert_eq!(of(r#"WithUnorderedPrefetch="1""#, "Index Seek").len(), 1);
        assert_eq!(of("", "Hash Match").len(), 1);
        let update = plan(r#"WithUnorderedPrefetch="1""#, "Index Seek", "[Job]")
            .replace(r#"StatementId="2""#, r#"StatementId="2" StatementType="UPDATE""#);
        assert!(deviations(&update, "dbo", "Job").is_empty(), "its rows were locked before");
    }

    #[test]
    fn other_tables_may_be_scanned() {
        for table in ["[Jobs]", "[@Job]"] {
            let found = deviations(&plan(r#"WithOrderedPrefetch="true""#, "Table Scan", table), "dbo", "Job");
            assert!(found.is_empty(), "{table}: {found:?}");
        }
        assert!(!deviations(&plan("", "Table Scan", "[a]]b&amp;c]"), "dbo", "a]b&c").is_empty());
    }

    #[test]
    fn only_calls_that_workers_wait_for_are_checked() {
        for (name, is_one) in [
            ("Job_Claim", true),
            ("Job_Settle", true),
            ("Job_Recover", true),
            ("Renew_Job_Set_trx", true),
            ("Next_Job_trx", false),
            ("Job_Add", true),
            ("Stats_Job", false),
            ("Jobs_Claim", false),
            ("Purge_Job_trx", false),
        ] {
            assert_eq!(is_waited_for(name, "Job"), is_one, "{name}");
        }
    }
}
