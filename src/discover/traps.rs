//! Traps in a table that is a queue, and in the code around it, each with its remedy.

use super::meaning::{self, Role};
use super::table::Table;
use super::{Churn, Code};
use crate::catalog::{TableIndex, find_table};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::ident::Identifier;
use crate::item::ItemState;
use crate::session::Session;

/// Dead rows that a claim passes over, at least.
const MANY_DEAD: i64 = 10_000;

/// All of a table and of the code that names it. `versioned`: readers of the database see row versions (RCSI).
pub(super) fn of(
    session: &mut Session,
    table: &Table,
    churn: Churn,
    code: &[&Code],
    versioned: bool,
) -> Result<Vec<Finding>> {
    let dialect = session.dialect();
    let object = format!("{}.{}", table.schema, table.name);
    let mut found = Vec::new();
    let mut warn = |check, what: String, remedy: &str| found.push(Finding::warning(check, &object, what, remedy));
    let state = table.state();
    let (due, started) = (table.role(Role::Due), table.role(Role::Started));
    let leads: Vec<_> = [state, due, started].into_iter().flatten().map(|column| column.name.as_str()).collect();
    let name = |name: &str| Identifier::new("a name", name);
    let indexes = match (name(&table.schema), name(&table.name)) {
        (Ok(schema), Ok(name)) => find_table(session, &exact(dialect, schema), &exact(dialect, name))?,
        _ => None,
    };
    let indexes = indexes.map_or_else(Vec::new, |table| table.indexes);
    let serves = |index: &TableIndex| {
        index.columns.first().is_some_and(|(first, _)| leads.iter().any(|name| first.eq_ignore_ascii_case(name)))
            || index.filter.as_ref().is_some_and(|filter| leads.iter().any(|name| filter.contains(name)))
    };
    if !leads.is_empty() && !indexes.iter().any(serves) {
        let what = format!("no index begins with {}: each look for work reads the whole table", leads.join(" or "));
        warn("index", what, "adopt makes one, or add it by hand");
    }
    let shows_taken = state
        .is_some_and(|column| column.values.iter().any(|value| meaning::state(value) == Some(ItemState::Processing)));
    let remembers = started.is_some() || table.role(Role::LeaseUntil).is_some();
    if shows_taken && !remembers {
        let what = "shows that a row is taken, and not since when: after a crash of its worker it stays so for ever";
        warn("lease", what.to_owned(), "adopt keeps a lease beside the table; or add the time of the claim");
    }
    if table.role(Role::Attempts).is_none() && (shows_taken || started.is_some()) {
        let what = "counts no attempts: a row that kills its worker is taken again without end";
        warn("attempts", what.to_owned(), "adopt counts them beside the table, and ends them at attempts.limit");
    }
    if churn.dead > MANY_DEAD && churn.dead > table.items {
        let what =
            format!("has {} dead rows, and about {} others: each claim passes over them", churn.dead, table.items);
        let remedy =
            "end what keeps them (an old transaction, a replication slot); let autovacuum run more often on this table";
        warn("dead rows", what, remedy);
    }
    if table.is_heap && dialect == Dialect::SqlServer {
        let what = "is a heap: rows that were deleted leave pages that each scan reads, and a page is not given back";
        warn("heap", what.to_owned(), "give it a clustered primary key");
    }
    if table.escalates && dialect == Dialect::SqlServer {
        let what = "may have its row locks become one of the table (LOCK_ESCALATION), which nobody reads past";
        warn("escalation", what.to_owned(), "ALTER TABLE ... SET (LOCK_ESCALATION = DISABLE)");
    }
    if table.columns.iter().all(|column| column.key_place == 0) {
        let what = "has no primary key: nothing names one of its rows";
        warn("key", what.to_owned(), "give it one; adopt needs it");
    }
    for index in indexes.iter().filter(|index| index.filter.is_some()) {
        for code in
            code.iter().filter(|code| dialect == Dialect::SqlServer && compares_with_variable(table, index, code))
        {
            let what = format!(
                "has the index {} with a filter, and {} compares its column with a variable: the server cannot know that the two agree",
                index.name, code.name
            );
            warn("filter", what, "write the constant, or add OPTION (RECOMPILE)");
        }
    }
    for code in code {
        found.extend(of_code(dialect, code, versioned));
    }
    Ok(found)
}

/// A name as the catalog has it.
fn exact(dialect: Dialect, name: Identifier) -> Identifier {
    let quoted = name.quoted(dialect.quote_style());
    if dialect == Dialect::Postgres { Identifier::written("a name", &quoted).unwrap_or(name) } else { name }
}

fn compares_with_variable(table: &Table, index: &TableIndex, code: &Code) -> bool {
    let filter = index.filter.as_deref().unwrap_or_default().to_lowercase();
    let named =
        table.columns.iter().map(|column| column.name.to_lowercase()).filter(|name| filter.contains(name.as_str()));
    let text: String = code.source.chars().filter(|c| !c.is_whitespace() && *c != '[' && *c != ']').collect();
    let mut named = named;
    named.any(|name| text.contains(&format!("{name}=@")))
}

/// Traps in a function or a procedure that claims rows.
pub(super) fn of_code(dialect: Dialect, code: &Code, versioned: bool) -> Vec<Finding> {
    let source = words(&code.source);
    let has = |word: &str| source.contains(word);
    let mut found = Vec::new();
    let mut warn = |check, what: &str, remedy: &str| found.push(Finding::warning(check, &code.name, what, remedy));
    if dialect == Dialect::SqlServer {
        if has("readpast") && !has("rowlock") {
            let what = "reads past locked rows without ROWLOCK: where the server locks pages, it passes over rows that nobody has";
            warn("rowlock", what, "write WITH (UPDLOCK, ROWLOCK, READPAST)");
        }
        if has("readpast") && !has("readcommittedlock") && versioned {
            let what = "reads past locked rows without READCOMMITTEDLOCK, in a database with READ_COMMITTED_SNAPSHOT";
            warn(
                "rcsi",
                what,
                "add READCOMMITTEDLOCK to the hints: row versions show a row as free that was just taken",
            );
        }
        let takes_first = (has("top (1)") || has("top 1 ")) && has("order by") && has("update");
        if takes_first && !has("updlock") && !has("readpast") {
            let what = "takes the first row without UPDLOCK: two callers at once read the same row, and both take it";
            warn("race", what, "write WITH (UPDLOCK, ROWLOCK, READPAST) at the read");
        }
        if has("serializable") || has("holdlock") {
            let what = "locks ranges while it takes work: callers at once wait for each other, and meet in deadlocks";
            warn("isolation", what, "read in READ COMMITTED, with UPDLOCK and READPAST");
        }
        if has("applock") {
            warn("applock", "takes an application lock: one caller at a time, however many rows wait", ONE_AT_A_TIME);
        }
    } else {
        if has("for update") && !has("skip locked") && !has("nowait") {
            let what = "locks rows that it waits for (FOR UPDATE, without SKIP LOCKED): callers at once queue up for the same row";
            warn("waits", what, "add SKIP LOCKED");
        }
        if has("skip locked") && !has("order by") {
            let what = "takes any rows (SKIP LOCKED without ORDER BY): an old one may wait without end";
            warn("order", what, "order by the time or the number in which rows came");
        }
        if has("advisory_lock") || has("advisory_xact_lock") {
            warn(
                "advisory",
                "takes an advisory lock, which no row shows, and a crash of a pooled session keeps",
                ONE_AT_A_TIME,
            );
        }
    }
    found
}

const ONE_AT_A_TIME: &str = "lock the rows themselves";

/// Text with single blanks.
fn words(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}
