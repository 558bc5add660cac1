//! Rules for the rendered T-SQL of every option, on both kinds of table, that a stand-in server does not enforce. The tests
//! write it to `target/tsql` for Microsoft's parser (`.ci/lint_tsql.sh`), and need no server.
//!
//! `tests/offline/tsql/exceptions.txt` lists each known breach of a rule, and nothing else.

mod databases;
mod hints;
mod names;
mod objects;
mod planted;
mod script;
mod statements;
pub mod text;
mod types;

use crate::tree::root;
use readpast::Dialect;
use readpast::description::QueueSpec;
use readpast::ident::Identifier;
use std::collections::BTreeSet;
use std::fs;
use support::matrix;
use text::Batch;

/// A place where a rule is broken.
#[derive(Debug)]
pub struct Finding {
    rule: &'static str,
    object: String,
    line: usize,
    detail: String,
}

impl Finding {
    fn new(rule: &'static str, batch: &Batch, line: usize) -> Self {
        Self { rule, object: batch.object.clone(), line, detail: String::new() }
    }

    /// As the list of exceptions has it.
    fn key(&self) -> String {
        format!("{} {}", self.rule, self.object)
    }
}

const RULES: [fn(&Batch, &mut Vec<Finding>); 17] = [
    names::variables_are_declared_once,
    names::columns_are_declared_once,
    hints::readpast_needs_rowlock,
    hints::targets_need_rowlock,
    hints::locked_top_needs_force_order,
    objects::filtered_indexes_have_their_filter,
    objects::nothing_is_looked_for_by_open_like,
    objects::schemas_have_an_owner,
    objects::checks_call_no_function,
    objects::tables_are_altered_where_they_differ,
    objects::names_are_compared_as_the_catalog_does,
    statements::numbers_of_many_rows_are_ordered,
    statements::inserts_name_their_columns,
    statements::messages_double_their_percent_signs,
    statements::only_views_are_taken_whole,
    statements::statements_on_tables_call_no_function,
    statements::table_variables_are_counted_once,
];

fn check(script: &str, ddl: &str, queue: &str, found: &mut Vec<Finding>) -> usize {
    let batches = text::batches(script, queue);
    let mut types = types::Types::default();
    let theirs = text::batches(ddl, queue);
    theirs.iter().chain(&batches).for_each(|batch| types.learn(batch));
    hints::tables_beside_locked_ones_have_hints(&batches, found);
    let mut compared = 0;
    for batch in &batches {
        RULES.iter().for_each(|rule| rule(batch, found));
        compared += types::both_sides_are_of_one_type(&types, batch, found);
    }
    compared
}

/// Statements that concern no schema and no queue: those that look at catalogs, and the settings of a session.
fn queries() -> impl Iterator<Item = (String, String)> {
    let names = Dialect::SqlServer.files().iter().map(|(name, _)| name.trim_end_matches(".sql"));
    let names = names.filter(|name| name.contains('/') && !name.starts_with("part/") && !name.starts_with("macro/"));
    let queries = names.filter_map(|name| Some((name, Dialect::SqlServer.query(name).ok()?)));
    let session = Dialect::SqlServer.session_settings(1000, 1000, "an application").unwrap();
    queries.chain([("call/session", session)]).map(|(name, text)| (name.replace('/', "_"), databases::filled_in(&text)))
}

#[test]
fn rendered_transact_sql_keeps_the_rules() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let (mut found, mut compared, mut upgrades) = (Vec::new(), 0, 0);
    let specs = matrix::specs();
    let mut plain = None;
    names::columns_that_collide(&specs, &schema, &mut found);
    for (name, spec) in &specs {
        let script = readpast::render::script(Dialect::SqlServer, &schema, Some(spec)).unwrap();
        databases::write_queue(name, &schema, spec, &script);
        // The statements of a change are those of the same objects: all of them on a table of ours.
        let (kind, option) = name.split_once('_').unwrap();
        if option == "plain" {
            plain = Some((spec, script.clone()));
        } else if let Some((old, install)) = plain.as_ref().filter(|_| kind == "own" || option == "everything") {
            upgrades += usize::from(databases::write_upgrade(name, &schema, (*old, install.as_str()), spec));
        }
        let ddl = databases::there(name);
        compared += check(&script, &ddl, &spec.queue.to_string(), &mut found);
        if !(name.ends_with("_everything") || name.starts_with("example_") || name.starts_with("claimed_")) {
            continue;
        }
        let dropped = readpast::render::drop_script(Dialect::SqlServer, &schema, spec, &[], &[]).unwrap();
        databases::write_drop(name, &schema, spec, (&ddl, &script), &dropped);
        // A check of the objects that are there when it runs.
        check(&dropped, &format!("{ddl}\nGO\n{script}"), &spec.queue.to_string(), &mut found);
    }
    databases::begin("queries");
    for (name, text) in queries() {
        databases::write("queries", &format!("{name}.sql"), &text);
    }
    assert!(upgrades > 30, "only {upgrades} upgrades");
    assert!(compared > 1000, "only {compared} comparisons were understood");

    let exceptions = fs::read_to_string(root("tests/offline/tsql/exceptions.txt")).unwrap();
    let known: BTreeSet<_> =
        exceptions.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let met: BTreeSet<_> = found.iter().map(Finding::key).collect();
    let unknown: BTreeSet<_> = found
        .iter()
        .filter(|finding| !known.contains(finding.key().as_str()))
        .map(|finding| format!("{} (line {} of a script) {}", finding.key(), finding.line, finding.detail))
        .collect();
    let gone: Vec<_> = known.iter().filter(|line| !met.contains(**line)).collect();
    assert!(
        unknown.is_empty() && gone.is_empty(),
        "against a rule: {unknown:#?}\nnot met any more, take it out of tests/offline/tsql/exceptions.txt: {gone:#?}"
    );
}

/// Tools read a script by lines before the server does: what begins one is never a name of somebody's.
#[test]
fn no_line_of_a_script_is_a_tools_command() {
    for (number, name) in support::hostile::NAMES.iter().enumerate() {
        let spec = QueueSpec::from_text(&support::hostile::described("Job", name, name)).unwrap();
        for dialect in [Dialect::SqlServer, Dialect::Postgres] {
            let schema = Identifier::new("the schema", name).unwrap();
            let script = readpast::render::script(dialect, &schema, Some(&spec)).unwrap();
            let objects = readpast::render::shared(dialect, &schema).unwrap().len()
                + readpast::render::queue(dialect, &schema, &spec).unwrap().len();
            if dialect == Dialect::SqlServer {
                databases::write_queue(&format!("hostile_{number}"), &schema, &spec, &script);
            }
            let mut separators = 0;
            for line in script.lines().map(str::trim_start) {
                let is_command = [":", "!!", "\\"].iter().any(|start| line.starts_with(start));
                assert!(!is_command, "{name}: {line}");
                separators += usize::from(line.trim_end().eq_ignore_ascii_case("go"));
                assert!(!line.to_ascii_lowercase().starts_with("go "), "{name}: {line}");
            }
            let expected = if dialect == Dialect::SqlServer { 2 * objects } else { 0 };
            assert!(separators >= expected && separators <= expected + 20, "{name}: {separators} of {expected}");
        }
    }
}

/// A crash may forget a claim or a renewal where the description says so, and nothing else.
#[test]
fn only_claims_renewals_and_reports_commit_before_the_log_has_them() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let mut lazy = Vec::new();
    for (name, spec) in matrix::specs() {
        for object in readpast::render::queue(Dialect::SqlServer, &schema, &spec).unwrap() {
            let text = &object.definition;
            // A caller that claims in its own transaction commits it itself.
            let name_of = text.split_once("PROCEDURE [readpast].[").and_then(|(_, rest)| rest.split(']').next());
            let is_one = name_of.is_some_and(|name| name.ends_with("_Claim") || name.starts_with("Renew_"));
            let reports = name_of.is_some_and(|name| name.starts_with("Progress_") && name.ends_with("_Set_trx"));
            let may = !spec.lease.durable && (is_one || reports);
            assert_eq!(text.contains("DELAYED_DURABILITY"), may, "{name}: {text}");
            assert_eq!(text.contains("COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);"), may, "{name}: {text}");
            lazy.extend((may && !reports).then(|| name.clone()));
        }
    }
    assert_eq!(lazy.len(), 6, "two procedures of each kind of table: {lazy:?}");
}
