//! Objects that go with a queue, and those that stay: rows, foreign keys, settings, and tables under names that are much alike.

use super::catalog::catalog;
use super::{installed, spec};
use readpast::install::{self, drop_queue, dropping};
use readpast::item::{Columns, NewItem};
use readpast::queue::Queue;
use readpast::{Action, ErrorKind, ItemState, Settlement};
use serde_json::json;
use std::fs;
use support::both::Database;
use support::folder::folder;

const OWN: &str = r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Payload", "type": "text"}]}"#;

fn item(name: &str, value: &str) -> NewItem {
    NewItem { columns: Columns::from(json!({ name: value }).as_object().unwrap().clone()), ..NewItem::default() }
}

fn count(database: &Database, table: &str) -> String {
    database.look(&format!("SELECT COUNT(*) FROM {table}"))
}

/// One item is in work, one waits; a table of the user's refers to one.
#[test]
fn an_own_table_goes_with_its_items_and_with_what_refers_to_them() {
    for database in Database::each() {
        installed(&database, OWN);
        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
        queue.enqueue(&[item("Payload", "a"), item("Payload", "b")], None).unwrap();
        let held = queue.claim(1, std::time::Duration::ZERO).unwrap();
        assert_eq!(held.len(), 1);
        database.run(database.pick(
            "CREATE TABLE dbo.Note (Id int NOT NULL PRIMARY KEY, At [readpast].[_Timestamp] NULL CONSTRAINT FK_Note_Job REFERENCES [readpast].[Job] ([EnqueuedAt]));
GO
INSERT INTO dbo.Note SELECT 1, MIN(EnqueuedAt) FROM [readpast].[Job]",
            "CREATE TABLE public.note (id int PRIMARY KEY, at timestamptz CONSTRAINT fk_note_job REFERENCES readpast.job (enqueued_at));
GO
INSERT INTO public.note SELECT 1, MIN(enqueued_at) FROM readpast.job",
        ));
        let plan = dropping(&database.config(&[]), "Job").unwrap();
        let names = |names: &[readpast::render::Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&plan.tables)[0], database.pick("readpast.Job", "readpast.job"));
        assert!(plan.stays.is_empty());
        // A server may fold the case of such names.
        let keys = plan.foreign_keys.iter().map(|key| format!("{} {}", key.table, key.key).to_lowercase());
        assert_eq!(keys.collect::<Vec<_>>(), [database.pick("dbo.note fk_note_job", "public.note fk_note_job")]);
        assert!(plan.script.contains(
            database.pick("DROP TABLE IF EXISTS [readpast].[Job];", "DROP TABLE IF EXISTS \"readpast\".\"job\";")
        ));

        drop_queue(&database.config(&[]), "Job").unwrap();
        assert_eq!(count(&database, database.pick("dbo.Note", "public.note")), "1", "the user's row stays");
        assert!(install::installed(&database.config(&[])).unwrap().is_empty());
        let operations = database.pick("[readpast].QueueOperation", "readpast.queue_operation");
        assert_eq!(count(&database, operations), "0", "a queue of this name has done nothing yet");

        let settled = queue.settle(&[Settlement::new(&held.get(0).unwrap(), Action::Complete)], None).unwrap_err();
        assert_eq!(settled.kind(), ErrorKind::UnknownQueue, "{settled}");
        assert!(settled.to_string().contains("was dropped from the schema \"readpast\""), "{settled}");
        let again = drop_queue(&database.config(&[]), "Job").unwrap_err();
        assert_eq!(again.kind(), ErrorKind::UnknownQueue, "{again}");
        installed(&database, OWN);
        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 0);
    }
}

#[test]
fn a_table_of_the_users_keeps_its_rows_and_its_own_indexes() {
    for database in Database::each() {
        database.run(database.pick(
            "CREATE TABLE dbo.Task (Id int NOT NULL PRIMARY KEY, State int NOT NULL, Body nvarchar(50) NULL);
GO
CREATE INDEX Theirs ON dbo.Task (Body);
GO
INSERT INTO dbo.Task VALUES (1, 0, N'a'), (2, 0, N'b')",
            "CREATE TABLE task (id int PRIMARY KEY, state int NOT NULL, body text);
GO
CREATE INDEX theirs ON task (body);
GO
INSERT INTO task VALUES (1, 0, 'a'), (2, 0, 'b')",
        ));
        // The schema keeps what claims take turns by.
        installed(&database, r#"{"queue": "Turns", "columns": [], "limit": [{"at_once": 1}]}"#);
        drop_queue(&database.config(&[]), "Turns").unwrap();
        let before = catalog(&database);
        installed(
            &database,
            r#"{"queue": "Task", "columns": [{"name": "Body", "type": "text(50)"}], "order": {"group": "Body"},
                "table": {"name": "Task", "key": [{"name": "Id", "type": "integer", "source": "producer"}],
                "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
        );
        let queue = Queue::open(&database.config(&[]), "Task").unwrap();
        let held = queue.claim(1, std::time::Duration::ZERO).unwrap();
        assert_eq!(held.len(), 1);
        let plan = dropping(&database.config(&[]), "Task").unwrap();
        assert_eq!(plan.stays[0].to_string(), database.pick("dbo.Task", "public.task"));
        assert_eq!(plan.tables[0].to_string(), database.pick("readpast.Task_Lease", "readpast.task_lease"));
        drop_queue(&database.config(&[]), "Task").unwrap();
        assert_eq!(catalog(&database), before);
        assert_eq!(count(&database, "Task"), "2");
    }
}

/// PostgreSQL calls the attempts of Job as it calls the items of JobAttempt.
#[test]
fn nothing_of_another_queue_goes() {
    for database in Database::each() {
        installed(&database, r#"{"queue": "JobAttempt", "columns": [], "settings": "job.attempt"}"#);
        let param = database.pick("[readpast].AppSettings (Param, ValInt)", "readpast.app_settings (param, val_int)");
        database.run(&format!("INSERT INTO {param} VALUES ('job.attempt.maxAttempts', 7)"));
        let before = catalog(&database);
        installed(&database, OWN);
        database.run(&format!("INSERT INTO {param} VALUES ('job.maxAttempts', 5)"));
        drop_queue(&database.config(&[]), "Job").unwrap();
        assert_eq!(catalog(&database), before);
    }
}

#[test]
fn objects_of_an_earlier_description_go_too() {
    for database in Database::each() {
        install::install(&database.config(&[]), None).unwrap();
        let before = catalog(&database);
        let with = |more: &str| OWN.replacen('{', &format!("{{{more}, "), 1);
        // The stand-in for SQL Server cannot compute a shard.
        let shards = if database.heeds_lock_hints() { r#", "shards": 4"# } else { "" };
        installed(&database, &with(&format!(r#""attempts": {{"history": true}}{shards}"#)));
        installed(&database, OWN);
        drop_queue(&database.config(&[]), "Job").unwrap();
        assert_eq!(catalog(&database), before);
    }
}

#[test]
fn a_table_on_which_another_queue_works_stays() {
    for database in Database::each() {
        installed(&database, OWN);
        let other = r#"{"queue": "Second", "columns": [], "table": {"schema": "readpast", "name": "Job",
            "key": [{"name": "$key", "type": "timestamp"}], "lifecycle": {"owner": "$owner"},
            "status": {"column": "Status", "values": {"Pending": "Paused", "Processing": "Processing", "Completed": "Completed"}}}}"#;
        let other = other.replace("$key", database.pick("EnqueuedAt", "enqueued_at"));
        installed(&database, &other.replace("$owner", database.pick("LeaseOwner", "lease_owner")));
        let before = catalog(&database);
        let refused = drop_queue(&database.config(&[]), "Job").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(refused.message().contains("the queue Second works on the table readpast."), "{refused}");
        assert_eq!(catalog(&database), before);
    }
}

#[test]
fn a_wrong_name_is_answered_with_the_one_that_is_meant() {
    for database in Database::each() {
        let missing = drop_queue(&database.config(&[]), "Job").unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::SchemaMissing, "{missing}");
        let spec = spec(OWN);
        install::install(&database.config(&[]), Some(&spec)).unwrap();
        for wrong in ["job", "Jobb"] {
            let refused = drop_queue(&database.config(&[]), wrong).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::UnknownQueue);
            let text = format!("schema \"readpast\" has no queue \"{wrong}\" (did you mean \"Job\"?); it has Job");
            assert!(refused.to_string().contains(&text), "{refused}");
        }
        let listed = install::installed(&database.config(&[])).unwrap();
        assert_eq!((listed[0].queue.as_str(), listed[0].own), ("Job", true));
        let table = listed[0].table.as_ref().unwrap().to_string();
        assert_eq!(table, database.pick("readpast.Job", "readpast.job"));
    }
}

#[test]
fn a_file_describes_the_queue_that_is_installed() {
    let folder = folder("install_file");
    let file = folder.join("job.toml");
    for database in Database::each() {
        fs::write(&file, "queue = \"Job\"\n").unwrap();
        install::install_file(&database.config(&[]), &file).unwrap();
        assert_eq!(install::installed(&database.config(&[])).unwrap()[0].queue, "Job");
        fs::write(&file, "queue = \"Job\"\ncolums = []\n").unwrap();
        let wrong = install::install_file(&database.config(&[]), &file).unwrap_err();
        assert!(wrong.to_string().contains("job.toml: line 2: colums"), "{wrong}");
        let missing = install::install_file(&database.config(&[]), folder.join("none.toml")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::InvalidArgument, "{missing}");
    }
    fs::remove_dir_all(folder).unwrap();
}
