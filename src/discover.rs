//! Finds the tables of a database that are queues, as somebody would who looks at it for the first time: by names, by what the server's
//! statistics and figures say, and by code that claims rows. Changes nothing, and reads no table.

mod known;
mod meaning;
mod table;
mod traps;
mod write;

use crate::catalog::{number, optional_text, server_facts, text};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::item::Rows;
use crate::session::Session;
use std::collections::HashMap;
use table::{Column, Table};

/// At most so many tables are described, the likeliest first.
const MOST: usize = 100;

/// A table that may be a queue.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The software whose table it is, where its name and columns say so.
    pub system: Option<&'static str>,
    /// Whether workers of readpast can take work from it, beside the software or in its place, and why.
    pub verdict: Option<&'static str>,
    /// How likely it is a queue: 3 or more points.
    pub score: u32,
    /// The evidence for it.
    pub evidence: Vec<String>,
    /// The traps in it, and in the code around it.
    pub traps: Vec<Finding>,
    /// A description that `adopt` takes, as TOML with comments where a person must decide; or the reason why there is none.
    pub description: std::result::Result<String, String>,
}

/// All that was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// The tables, the likeliest first.
    pub tables: Vec<Candidate>,
    /// Traps in code that names none of them, and what the login may not see.
    pub findings: Vec<Finding>,
}

/// A column with more values shows no state.
const FEW: usize = 20;

/// A function or a procedure that claims rows.
struct Code {
    name: String,
    /// In lower case.
    source: String,
}

/// How many rows came, went and changed, and are dead.
#[derive(Debug, Clone, Copy, Default)]
struct Churn {
    inserted: i64,
    deleted: i64,
    updated: i64,
    dead: i64,
}

/// Looks for queues in the database.
///
/// # Errors
/// The failure of a log-in, or of the look at the catalog. What the login may not see is a finding.
pub fn discover(config: &Config) -> Result<Report> {
    let mut session = Session::open(config)?;
    let dialect = session.dialect();
    let mut findings = Vec::new();
    let rows = session.execute(&dialect.query("ask/discover")?, &[])?;
    let mut tables = columns(&rows);
    let mut ask = |session: &mut Session, query: &str, what: &str| -> Result<Option<Rows>> {
        match session.execute(&dialect.query(query)?, &[]) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) => {
                let remedy = "look with a login that may, or go by the rest";
                let fact = format!("this login cannot see {what}: {}", error.message());
                findings.push(Finding::warning("sight", "the database", fact, remedy));
                Ok(None)
            }
        }
    };
    let values = ask(&mut session, "ask/discover_values", "the statistics of columns")?;
    let churn = ask(&mut session, "ask/discover_churn", "how many rows came and went")?;
    let code = ask(&mut session, "ask/discover_code", "the text of procedures")?;
    let code = code.map_or_else(Vec::new, |rows| code_of(&rows));
    if let Some(rows) = &values {
        take_values(&mut tables, rows);
    }
    let churn = churn.map_or_else(HashMap::new, |rows| churn_of(&rows));
    let facts = server_facts(&mut session).ok();
    let versioned = facts.as_ref().is_some_and(|facts| facts.number("read_committed_snapshot") == Some(1));
    if let Some(finding) = facts.as_ref().and_then(|facts| isolation(dialect, facts.get("isolation_level"))) {
        findings.push(finding);
    }

    let mut found: Vec<_> = tables
        .into_iter()
        .filter_map(|table| {
            let moved = churn.get(&(table.schema.clone(), table.name.clone())).copied().unwrap_or_default();
            let named: Vec<_> = code.iter().filter(|code| table.is_named_by(&code.source)).collect();
            let (score, evidence) = table.evidence(moved, named.iter().map(|code| code.name.as_str()));
            (score >= 3).then_some((score, evidence, moved, named, table))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.4.name.cmp(&b.4.name)));
    if found.len() > MOST {
        let what = format!("{} more tables look like queues, less than these", found.len() - MOST);
        findings.push(Finding::ok("many", "the database", what));
    }
    let mut candidates = Vec::new();
    let mut met: Vec<&str> = Vec::new();
    for (score, evidence, moved, named, table) in found.iter().take(MOST) {
        let system = known::system(table);
        met.extend(named.iter().map(|code| code.name.as_str()));
        let traps = traps::of(&mut session, table, *moved, named, versioned)?;
        candidates.push(Candidate {
            schema: table.schema.clone(),
            name: table.name.clone(),
            system: system.map(|system| system.name),
            verdict: system.map(|system| system.verdict),
            score: *score,
            evidence: evidence.clone(),
            traps,
            description: write::description(dialect, table, system),
        });
    }
    for code in code.iter().filter(|code| !met.contains(&code.name.as_str())) {
        findings.extend(traps::of_code(dialect, code, versioned));
    }
    Ok(Report { tables: candidates, findings })
}

fn columns(rows: &Rows) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for row in 0..rows.len() {
        let (schema, name) = (text(rows, row, 0), text(rows, row, 1));
        if tables.last().is_none_or(|table| table.schema != schema || table.name != name) {
            let is = |column| number(rows, row, column) == Some(1);
            let items = number(rows, row, 11).unwrap_or(0).max(0);
            tables.push(Table { schema, name, items, is_heap: is(12), escalates: is(13), columns: Vec::new() });
        }
        let labels = optional_text(rows, row, 9).and_then(|labels| serde_json::from_str(&labels).ok());
        let column = Column {
            name: text(rows, row, 2),
            kind: text(rows, row, 3),
            length: number(rows, row, 4).unwrap_or(-1),
            nullable: number(rows, row, 5) == Some(1),
            numbered: number(rows, row, 6) == Some(1),
            default: optional_text(rows, row, 7),
            key_place: number(rows, row, 8).unwrap_or(0),
            values: labels.unwrap_or_default(),
            computed: number(rows, row, 10) == Some(1),
        };
        if let Some(table) = tables.last_mut() {
            table.columns.push(column);
        }
    }
    tables
}

fn take_values(tables: &mut [Table], rows: &Rows) {
    let mut known: HashMap<(String, String, String), Vec<String>> = HashMap::new();
    for row in 0..rows.len() {
        let place = (text(rows, row, 0), text(rows, row, 1), text(rows, row, 2));
        // Several statistics may have a column.
        let value = text(rows, row, 3);
        let values = known.entry(place).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    known.retain(|_, values| values.len() <= FEW);
    for table in tables {
        let (schema, name) = (table.schema.clone(), table.name.clone());
        // The words of an enum say more.
        for column in table.columns.iter_mut().filter(|column| column.values.is_empty()) {
            if let Some(values) = known.remove(&(schema.clone(), name.clone(), column.name.clone())) {
                column.values = values;
            }
        }
    }
}

fn churn_of(rows: &Rows) -> HashMap<(String, String), Churn> {
    let figure = |row, column| number(rows, row, column).unwrap_or(0);
    let churn = |row| Churn {
        inserted: figure(row, 2),
        deleted: figure(row, 3),
        updated: figure(row, 4),
        dead: figure(row, 5),
    };
    (0..rows.len()).map(|row| ((text(rows, row, 0), text(rows, row, 1)), churn(row))).collect()
}

fn code_of(rows: &Rows) -> Vec<Code> {
    let code = |row| Code {
        name: format!("{}.{}", text(rows, row, 0), text(rows, row, 1)),
        source: text(rows, row, 2).to_lowercase(),
    };
    (0..rows.len()).map(code).collect()
}

/// An isolation level in which claims that pass over locked rows break.
fn isolation(dialect: Dialect, level: &str) -> Option<Finding> {
    let breaks = dialect == Dialect::Postgres && !["read committed", "read uncommitted", ""].contains(&level);
    let what = format!(
        "transactions are {level} by default: a claim that passes over locked rows fails there with 40001 when somebody has \
         changed a row that it meets"
    );
    breaks.then(|| Finding::warning("isolation", "the database", what, "let workers run in READ COMMITTED"))
}
