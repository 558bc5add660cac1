//! The frame of a rendered script, run by a model of a session: whatever batch fails, and however, nothing more is done, and the
//! window of the person who runs it is left as any other.

use readpast::{
    Dialect,
    description::{EXAMPLES, QueueSpec},
    ident::Identifier,
    render,
};

/// How a batch fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// When it runs: XACT_ABORT ends the transaction.
    AtRun,
    /// When it is compiled: it is skipped, and the transaction stays open.
    AtCompile,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Session {
    in_transaction: bool,
    no_exec: bool,
    failed: bool,
    committed: bool,
    /// Batches with work of their own that ran.
    done: usize,
}

impl Session {
    fn run(&mut self, batch: &str, failure: Option<Failure>) {
        let has = |words: &str| batch.contains(words);
        if has("SET NOEXEC OFF") {
            self.no_exec = false;
        }
        if self.no_exec {
            return;
        }
        if let Some(failure) = failure {
            self.failed = true;
            self.in_transaction &= failure == Failure::AtCompile;
            return;
        }
        if has("IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION") && self.failed {
            self.in_transaction = false;
        }
        self.failed = false;
        if has("IF @@TRANCOUNT = 0 SET NOEXEC ON") {
            self.no_exec = !self.in_transaction;
        } else if batch.trim_start().starts_with("COMMIT TRANSACTION") {
            assert!(self.in_transaction);
            (self.in_transaction, self.committed) = (false, true);
        } else if has("BEGIN TRANSACTION;\n") || batch.trim_end().ends_with("BEGIN TRANSACTION;") {
            self.in_transaction = true;
        } else {
            self.done += 1;
        }
    }
}

fn run(batches: &[&str], failing: Option<(usize, Failure)>) -> Session {
    let mut session = Session::default();
    for (number, batch) in batches.iter().enumerate() {
        let failure = failing.filter(|(at, _)| *at == number).map(|(_, failure)| failure);
        session.run(batch, failure);
    }
    session
}

#[test]
fn a_script_leaves_its_window_as_it_was_and_does_all_or_nothing() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    for (name, text) in EXAMPLES {
        let spec = QueueSpec::from_toml(text).unwrap();
        let install = render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap();
        let upgrade = render::upgrade_script(Dialect::SqlServer, &schema, &spec, &spec).unwrap();
        let drop = render::drop_script(Dialect::SqlServer, &schema, &spec, &[], &[]).unwrap();
        let part = |part| render::part(Dialect::SqlServer, &schema, Some(&spec), part).unwrap();
        for script in [install, upgrade, drop, part(render::Part::Tables), part(render::Part::Code)] {
            assert!(
                script.contains("SET LOCK_TIMEOUT "),
                "{name}: all that come later wait behind a change that waits"
            );
            let batches: Vec<_> = script.split("\nGO\n").filter(|batch| !batch.trim().is_empty()).collect();
            let whole = run(&batches, None);
            assert!(whole.committed && !whole.in_transaction && !whole.no_exec && whole.done > 3, "{name} {whole:?}");
            let is_own = |batch: &str| !batch.contains("@@TRANCOUNT = 0 SET NOEXEC ON");
            for at in (1..batches.len()).filter(|at| is_own(batches[*at])) {
                let is_end =
                    batches[at].trim() == "SET NOEXEC OFF;\nSET DEADLOCK_PRIORITY NORMAL;\nSET LOCK_TIMEOUT -1;";
                for failure in [Failure::AtRun, Failure::AtCompile] {
                    let session = run(&batches, Some((at, failure)));
                    assert!(
                        session.committed == is_end || session.in_transaction,
                        "{name}: batch {at} {failure:?} {session:?}"
                    );
                    assert!(is_end || !session.committed, "{name}: batch {at} {failure:?} {session:?}");
                    assert!(is_end || !session.no_exec, "{name}: batch {at} {failure:?} {session:?}");
                }
            }
        }
    }
}

/// Tables in one script and code in the other: together what the whole one has, and no table in the code.
#[test]
fn tables_and_code_are_the_whole_script() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    for (name, text) in EXAMPLES {
        let spec = QueueSpec::from_toml(text).unwrap();
        for dialect in [Dialect::SqlServer, Dialect::Postgres] {
            let part = |part| render::part(dialect, &schema, Some(&spec), part).unwrap();
            let (whole, tables, code) = (part(render::Part::All), part(render::Part::Tables), part(render::Part::Code));
            let mut objects = render::shared(dialect, &schema).unwrap();
            objects.extend(render::queue(dialect, &schema, &spec).unwrap());
            for object in &objects {
                let definition = object.definition.trim();
                let places = [&tables, &code].map(|script| script.contains(definition));
                assert!(whole.contains(definition) && places.contains(&true), "{name}: {definition}");
                let is_kept = matches!(object.makes, render::Made::Kept { .. } | render::Made::Index(_));
                // But for a function that a CHECK of a table calls.
                let is_code = matches!(object.makes, render::Made::Code { .. } | render::Made::Grant(_))
                    && object.file != "queue/table.sql";
                assert!(!(is_kept && places[1]) && !(is_code && places[0]), "{name}: {definition}");
            }
            assert!(
                !tables.contains("INSERT INTO [readpast].[QueueSpec]"),
                "{name}: the description goes with the code"
            );
        }
    }
}
