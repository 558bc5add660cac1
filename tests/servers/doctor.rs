//! The doctor finds what was done to a database behind readpast's back, and says what to do about it.

use readpast::{ErrorKind, Finding, QueueSpec, Severity, doctor, install::install};
use support::both::Database;
use support::scratch::{Scratch, item, look};

fn installed() -> Vec<Database> {
    let databases = Database::each();
    for database in &databases {
        let spec = QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap();
        install(&database.config(&[]), Some(&spec)).unwrap();
    }
    databases
}

fn check(database: &Database, queue: Option<&str>) -> Vec<Finding> {
    doctor::check(&database.config(&[]), queue).unwrap()
}

#[track_caller]
fn assert_found(findings: &[Finding], severity: Severity, check: &str, words: &[&str]) {
    let fits = |finding: &&Finding| {
        let text = finding.to_string().to_lowercase();
        finding.severity == severity
            && finding.check == check
            && words.iter().all(|word| text.contains(&word.to_lowercase()))
    };
    let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.iter().any(|finding| fits(&finding)), "{check} {words:?} in:\n{}", shown.join("\n"));
}

#[test]
fn a_fresh_install_is_sound() {
    for database in installed() {
        let findings = check(&database, Some("Job"));
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error && finding.check != "compatibility")
            .map(ToString::to_string)
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        for check in ["driver", "version", "isolation", "clock", "schema", "object", "permission", "index", "login"] {
            assert!(findings.iter().any(|finding| finding.check == check), "{check} was not looked at: {findings:#?}");
        }
        for finding in &findings {
            assert_eq!(finding.remedy.is_empty(), finding.severity == Severity::Ok, "{finding}");
            assert!(!finding.what.is_empty() && !finding.object.is_empty(), "{finding:?}");
        }
    }
}

/// The queue goes on with other keys then, although the numbers begin anew.
#[test]
fn a_sequence_that_is_gone_is_found_and_comes_back() {
    for database in Database::each() {
        let spec = QueueSpec::from_json(r#"{"queue": "Job", "shards": 2}"#).unwrap();
        install(&database.config(&[]), Some(&spec)).unwrap();
        let queue = readpast::Queue::open(&database.config(&[]), "Job").unwrap();
        let first = queue.enqueue(&[item("a")], None).unwrap();
        for name in database.pick("Job_Seq Job_ShardTurn", "job_seq job_shard_turn").split(' ') {
            database.run(&format!("DROP SEQUENCE readpast.{name}"));
            assert_found(&check(&database, Some("Job")), Severity::Error, "sequence", &[name, "install"]);
        }
        queue.enqueue(&[item("b")], None).unwrap_err();
        install(&database.config(&[]), Some(&spec)).unwrap();
        assert!(check(&database, Some("Job")).iter().all(|finding| finding.check != "sequence"));
        let second = queue.enqueue(&[item("b")], None).unwrap();
        assert_ne!(first[0].key, second[0].key);
        assert_eq!(queue.claim(5, std::time::Duration::ZERO).unwrap().len(), 2);
    }
}

#[test]
fn nothing_installed_and_unknown_queues() {
    for database in Database::each() {
        assert_found(&check(&database, None), Severity::Error, "schema", &["holds no readpast objects", "install"]);
    }
    for database in installed() {
        assert_found(&check(&database, Some("Jobs")), Severity::Error, "queue", &["Jobs", "no queue", "there is Job"]);
        assert!(doctor::check(&database.config(&[]), Some("a'b")).is_err());
    }
}

#[test]
fn an_index_that_is_gone_or_changed() {
    for database in installed() {
        database.run(database.pick("DROP INDEX IX_Job_Due ON [readpast].Job", "DROP INDEX readpast.job_due"));
        let index = database.pick("IX_Job_Due", "job_due");
        assert_found(
            &check(&database, None),
            Severity::Error,
            "index",
            &[index, "is not there", "install the queue again"],
        );
        database.run(database.pick(
            "CREATE INDEX IX_Job_Due ON [readpast].Job (EnqueuedAt)",
            "CREATE INDEX job_due ON readpast.job (enqueued_at)",
        ));
        let findings = check(&database, None);
        assert_found(&findings, Severity::Error, "index", &[index, "is on enqueued", "should be on scheduled"]);
        // Not every server says that an index is filtered.
        database.run(database.pick("DROP INDEX IX_Job_Due ON [readpast].Job", "DROP INDEX readpast.job_due"));
        database.run(database.pick(
            "CREATE INDEX IX_Job_Due ON [readpast].Job (ScheduledFor, EnqueuedAt)",
            "CREATE INDEX job_due ON readpast.job (scheduled_for, enqueued_at)",
        ));
        assert_found(&check(&database, None), Severity::Warning, "index", &[index, "holds all rows", "Pending"]);
    }
}

#[test]
fn a_procedure_that_is_gone() {
    for database in installed() {
        database.run(
            database.pick("DROP PROCEDURE [readpast].Renew_Job_Set_trx", "DROP FUNCTION readpast.renew_job_set_trx"),
        );
        assert_found(&check(&database, None), Severity::Error, "object", &["renew_job_set_trx", "is not there"]);
    }
}

#[test]
fn encryption_turned_off_and_options_that_harm() {
    for database in Database::each() {
        let mut config = database.config(&[]);
        let harm = database.pick("ConnectRetryCount=3;", "UseDeclareFetch=1;");
        config.set("connection", &format!("{}{harm}", database.connection())).unwrap();
        let findings = doctor::check(&config, None).unwrap();
        assert_found(&findings, Severity::Warning, "driver", &["the connection string says", "leave it out"]);
    }
}

#[test]
fn causes_of_waits_on_sql_server_are_named() {
    for database in installed().into_iter().filter(Database::is_sql_server) {
        database.run("CREATE TABLE dbo.Note (Id int NOT NULL, Item datetime2(7) NULL)");
        database.run(
            "ALTER TABLE dbo.Note ADD CONSTRAINT FK_Note_Job FOREIGN KEY (Item) REFERENCES [readpast].Job (EnqueuedAt)",
        );
        let findings = check(&database, Some("Job"));
        assert_found(&findings, Severity::Warning, "foreign-key", &["FK_Note_Job", "no index begins"]);
        assert_found(&findings, Severity::Ok, "plan", &["Job"]);
        database.run("CREATE INDEX IX_Note_Item ON dbo.Note (Item)");
        let findings = check(&database, Some("Job"));
        assert!(findings.iter().all(|finding| finding.check != "foreign-key"), "{findings:#?}");
        let unseen: Vec<_> =
            findings.iter().filter(|finding| finding.what.starts_with("could not be checked")).collect();
        assert!(unseen.is_empty(), "{unseen:#?}");
    }
}

/// The procedures of a schema of somebody else's work on a table of dbo's only for who has rights on it.
#[test]
fn a_table_of_another_owner() {
    for database in Database::each().into_iter().filter(Database::is_sql_server) {
        database.run("CREATE TABLE dbo.jobs (id bigint IDENTITY NOT NULL PRIMARY KEY, state int NOT NULL)");
        let spec = r#"{"queue": "Job", "columns": [], "table": {"name": "jobs", "key": ["id"],
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;
        install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        // There are servers on which dbo is not its own owner.
        let owners =
            "SELECT COUNT(DISTINCT s.principal_id) FROM sys.schemas AS s WHERE s.name IN (N'dbo', N'readpast')";
        let are_two = database.look(owners) == "2";
        let findings = check(&database, Some("Job"));
        assert_eq!(findings.iter().any(|finding| finding.check == "owner"), are_two, "{findings:#?}");
        if are_two {
            assert_found(&findings, Severity::Warning, "owner", &["jobs", "belongs to", "error 229"]);
        }
    }
}

/// On SQL Server, where a right on the schema or the database is all that its holder needs to prepare a trigger.
#[test]
fn strangers_who_may_change_the_schema_are_named() {
    for database in installed().iter().filter(|database| database.is_sql_server()) {
        let named = |findings: &[Finding]| findings.iter().any(|finding| finding.check == "holders");
        assert!(!named(&check(database, None)), "nobody holds a right yet");
        let eve = format!("eve_{}", std::process::id());
        database.run(&format!("CREATE LOGIN {eve} WITH PASSWORD = 'Pwd_12345678'"));
        database.run(&format!("CREATE USER {eve} FOR LOGIN {eve}"));
        let mut session = database.session();
        for (give, take, said) in [
            ("GRANT ALTER ON SCHEMA::[readpast] TO", "REVOKE ALTER ON SCHEMA::[readpast] FROM", "ALTER on the schema"),
            ("GRANT ALTER ANY SCHEMA TO", "REVOKE ALTER ANY SCHEMA FROM", "ALTER ANY SCHEMA on the database"),
            ("ALTER ROLE db_ddladmin ADD MEMBER", "ALTER ROLE db_ddladmin DROP MEMBER", "db_ddladmin"),
        ] {
            match session.execute(&format!("{give} {eve}"), &[]) {
                Ok(_) => {
                    assert_found(&check(database, None), Severity::Warning, "holders", &[&eve, said]);
                    session.execute(&format!("{take} {eve}"), &[]).unwrap();
                    assert!(!named(&check(database, None)), "{said}");
                }
                // There are servers like SQL Server that know no such right or role.
                Err(error) => assert!(error.kind() == ErrorKind::Database, "{error}"),
            }
        }
        database.run(&format!("DROP USER {eve}"));
        database.run(&format!("DROP LOGIN {eve}"));
    }
}

/// Dead rows that nothing may remove slow each claim: the doctor names the session behind it, since when, and what to do.
#[test]
fn the_session_that_keeps_the_horizon_is_named() {
    let scratch = Scratch::new();
    let holds = |findings: &[Finding]| findings.iter().filter(|finding| finding.check == "transactions").count();
    let examined = || doctor::check(&scratch.config(&[]), Some("Job")).unwrap();
    let mut holder = scratch.session();
    let id = look(&mut holder, "SELECT pg_backend_pid()");
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ", &[]).unwrap();
    look(&mut holder, "SELECT COUNT(*) FROM readpast.job");
    assert_eq!(holds(&examined()), 0, "a transaction at work is nothing to tell of");
    // Its commits wait for no disk, so that they take a second and not minutes.
    scratch.run("DO $$ BEGIN PERFORM set_config('synchronous_commit', 'off', false); FOR i IN 1..100001 LOOP PERFORM txid_current(); COMMIT; END LOOP; END $$");
    let words = [format!("session {id} of"), format!("pg_terminate_backend({id})")];
    assert_found(&examined(), Severity::Warning, "transactions", &[&words[0], "idle in transaction", &words[1]]);
    holder.execute("COMMIT", &[]).unwrap();
    assert_eq!(holds(&examined()), 0);
}
