//! `Next_` and `Modify_` as the first document prints them, called as they are, by competing workers; and what such
//! procedures have nothing for, refused in plain words.

use readpast::{
    Action, Answer, ErrorKind, ItemState, NewItem, Queue, QueueSpec, Settlement, install::install, item::Value,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use support::both::Database;

const SPEC_SQL_SERVER: &str = r#"
queue = "Notification"
types = ["Email", "ResetPassword"]
columns = [{ name = "EmailTo", type = "text(254)", nullable = false }]
[procedures]
next = "Next_Notification_trx"
modify = "Modify_Notification_trx"
add = "Add_Notification_trx"
view = "Worker_Notification_V"
key = "EnqueuedAt"
token = "UpdatedAt"
"#;

const SPEC_POSTGRES: &str = r#"
queue = "Notification"
types = ["Email", "ResetPassword"]
columns = [{ name = "email_to", type = "text(254)", nullable = false }]
[procedures]
next = "next_notification_trx"
modify = "modify_notification_trx"
add = "add_notification_trx"
view = "worker_notification_v"
key = "enqueued_at"
token = "updated_at"
"#;

struct Given {
    database: Database,
}

impl Given {
    fn each() -> Vec<Self> {
        Database::each()
            .into_iter()
            .map(|database| {
                let script = match database.is_sql_server() {
                    true => include_str!("procedures/sql_server.sql"),
                    false => include_str!("procedures/postgres.sql"),
                };
                database.run(script);
                install(&database.config(&[]), Some(&spec(&database))).unwrap();
                Self { database }
            })
            .collect()
    }

    fn open(&self) -> Queue {
        Queue::open(&self.database.config(&[]), "Notification").unwrap()
    }

    fn items(&self, count: usize) -> Vec<NewItem> {
        let column = self.database.pick("EmailTo", "email_to");
        (0..count)
            .map(|i| NewItem {
                columns: json!({column: format!("a{i}@example.org")}).as_object().unwrap().clone().into(),
                ..NewItem::default()
            })
            .collect()
    }

    /// A column of the only item.
    fn look(&self, column: &str) -> String {
        let column = if self.database.is_sql_server() { column.replace('_', "") } else { column.to_owned() };
        self.database.look(&format!("SELECT {column} FROM notification"))
    }

    /// Whether the server passes over rows that others hold, as these procedures rely on.
    fn heeds_lock_hints(&self) -> bool {
        if !self.database.is_sql_server() {
            return true;
        }
        let mut holder = self.database.session();
        holder
            .transaction(|session| {
                session.execute("SELECT Param FROM AppSettings WITH (UPDLOCK, ROWLOCK) WHERE Param = 'probe'", &[])?;
                let query = "SELECT COUNT(*) FROM AppSettings WITH (UPDLOCK, ROWLOCK, READPAST) WHERE Param = 'probe'";
                Ok(self.database.look(query) == "0")
            })
            .unwrap()
    }
}

fn spec(database: &Database) -> QueueSpec {
    QueueSpec::from_toml(database.pick(SPEC_SQL_SERVER, SPEC_POSTGRES)).unwrap()
}

/// An outcome has so many bytes for the token.
#[test]
fn a_token_of_long_text_is_refused() {
    for database in Database::each() {
        database.run(database.pick(include_str!("procedures/sql_server.sql"), include_str!("procedures/postgres.sql")));
        let (token, text) = (database.pick("UpdatedAt", "updated_at"), database.pick("EmailTo", "email_to"));
        let words = database.pick(SPEC_SQL_SERVER, SPEC_POSTGRES);
        let words = words.replace(&format!("token = \"{token}\""), &format!("token = \"{text}\""));
        let spec = QueueSpec::from_toml(&words).unwrap();
        let opened = install(&database.config(&[]), Some(&spec))
            .and_then(|_| Queue::open(&database.config(&[]), "Notification").map(drop));
        let error = opened.unwrap_err();
        assert!(error.message().contains("a token is a time") && error.message().contains(text), "{error}");
    }
}

#[test]
fn competing_workers_drain_it() {
    for given in Given::each() {
        given.database.run(
            "INSERT INTO app_settings (param, val_int) VALUES ('probe', 1)"
                .replace("app_settings", given.database.pick("AppSettings", "app_settings"))
                .replace("val_int", given.database.pick("ValInt", "val_int"))
                .as_str(),
        );
        let producer = given.open();
        let keys = producer.enqueue(&given.items(60), None).unwrap();
        assert!(keys.iter().all(|item| !item.key.is_empty() && !item.token.is_empty()), "{keys:?}");
        let workers = if given.heeds_lock_hints() { 4 } else { 1 };
        let seen = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let queue = given.open();
                    loop {
                        let batch = queue.claim(5, Duration::ZERO).unwrap();
                        if batch.is_empty() {
                            break;
                        }
                        for item in batch.iter() {
                            assert_eq!(item.attempt(), 1);
                            assert!(matches!(
                                item.value_of(given.database.pick("EmailTo", "email_to")),
                                Some(Value::Text(_))
                            ));
                            *seen.lock().unwrap().entry(item.key().to_owned()).or_insert(0) += 1;
                        }
                        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
                        for outcome in queue.settle(&done, None).unwrap() {
                            assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Completed)));
                        }
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 60, "nothing is lost");
        assert!(seen.values().all(|times| *times == 1), "nothing is taken twice: {seen:?}");
        assert_eq!(producer.stats().unwrap().count(ItemState::Completed), 60);
    }
}

#[test]
fn reports_of_a_worker_reach_the_procedure() {
    for given in Given::each() {
        let queue = given.open();
        queue.enqueue(&given.items(1), None).unwrap();
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        let item = batch.get(0).unwrap();
        let step = Settlement { step: Some("Send"), ..Settlement::new(&item, Action::Step) };
        let outcome = queue.settle(&[step], None).unwrap().remove(0);
        assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Processing)));
        assert_ne!(outcome.token, item.token());
        // The token before the step is not the item's any more.
        let stale = queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap().remove(0);
        assert_eq!(stale.answer, Answer::Conflict);
        let retry = Settlement {
            token: Some(&outcome.token),
            error: Some("smtp: \u{1f600}"),
            response: Some("421"),
            delay_ms: Some(3_600_000),
            ..Settlement::new(&item, Action::Retry)
        };
        let outcome = queue.settle(&[retry], None).unwrap().remove(0);
        assert_eq!((outcome.answer, outcome.state, outcome.attempt), (Answer::Ok, Some(ItemState::Error), 1));
        assert_eq!(given.look("step"), "Send");
        assert_eq!(given.look("error"), "smtp: \u{1f600}");
        assert_eq!(given.look("response"), "421");
        assert!(
            queue.claim(1, Duration::ZERO).unwrap().is_empty(),
            "it is due in an hour, by the server's local clock"
        );
        let due = given.database.look(given.database.pick(
            "SELECT CASE WHEN DATEDIFF(MINUTE, SYSDATETIME(), ScheduledFor) BETWEEN 58 AND 60 THEN 1 ELSE 0 END FROM Notification",
            "SELECT (scheduled_for BETWEEN sysdatetime() + interval '58 min' AND sysdatetime() + interval '61 min')::integer \
             FROM notification",
        ));
        assert_eq!(due, "1");
        // An operator steers it without its token, and lets it go again.
        let cancel = Settlement::control(item.key(), None, Action::Cancel);
        assert_eq!(queue.settle(std::slice::from_ref(&cancel), None).unwrap()[0].answer, Answer::Ok);
        let again = queue.settle(&[cancel], None).unwrap().remove(0);
        assert_eq!((again.answer, again.state), (Answer::IllegalTransition, Some(ItemState::Cancelled)));
        let nobody = Settlement::control("2001-01-01T00:00:00.0000000", None, Action::Cancel);
        assert_eq!(queue.settle(&[nobody], None).unwrap()[0].answer, Answer::NotFound);
    }
}

#[test]
fn spent_attempts_end_failed() {
    for given in Given::each() {
        let queue = given.open();
        queue.enqueue(&given.items(1), None).unwrap();
        for attempt in 1..=3 {
            let batch = queue.claim(1, Duration::ZERO).unwrap();
            let item = batch.get(0).unwrap();
            assert_eq!(item.attempt(), attempt);
            let outcome = queue.settle(&[Settlement::new(&item, Action::Retry)], None).unwrap().remove(0);
            let state = if attempt < 3 { ItemState::Error } else { ItemState::Failed };
            assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(state)));
        }
        assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
    }
}

#[test]
fn calls_that_no_procedure_serves_are_refused_in_plain_words() {
    for given in Given::each() {
        let queue = given.open();
        queue.enqueue(&given.items(1), None).unwrap();
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let item = batch.get(0).unwrap();
        for error in [
            queue.renew(&[item.into()]).unwrap_err(),
            queue.recover(10).unwrap_err(),
            queue.get(item.key()).unwrap_err(),
            queue.purge(&readpast::item::Filter::default(), 10).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().starts_with("hand-written procedures cannot"), "{error}");
        }
    }
}

#[test]
fn the_doctor_says_what_they_cannot_promise() {
    for given in Given::each() {
        let findings = readpast::doctor::check(&given.database.config(&[]), Some("Notification")).unwrap();
        let said: Vec<_> = findings.iter().map(ToString::to_string).collect();
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == readpast::Severity::Error && finding.check != "compatibility")
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let mut wanted = vec![
            "there is no lease",
            "OutcomeUnknown",
            "a call and a commit of its own",
            "Unsupported",
            "token is the time",
        ];
        if given.database.is_sql_server() {
            wanted.extend(["NOCOUNT", "XACT_ABORT", "18054", "error 650", "local time"]);
        }
        for words in wanted {
            assert!(said.iter().any(|finding| finding.contains(words)), "{words} in {said:#?}");
        }
        // Procedures that go by local time, described as going by UTC.
        let text = given.database.pick(SPEC_SQL_SERVER, SPEC_POSTGRES);
        let utc = QueueSpec::from_toml(&format!("{text}time = \"utc\"\n")).unwrap();
        install(&given.database.config(&[]), Some(&utc)).unwrap();
        let findings = readpast::doctor::check(&given.database.config(&[]), Some("Notification")).unwrap();
        assert!(findings.iter().any(|finding| finding.check == "time" && finding.remedy.contains("local")));
    }
}

#[test]
fn missing_objects_are_named() {
    for given in Given::each() {
        let text = given.database.pick(SPEC_SQL_SERVER, SPEC_POSTGRES);
        let next = given.database.pick("Next_Notification_trx", "next_notification_trx");
        let view = given.database.pick("Worker_Notification_V", "worker_notification_v");
        let token = given.database.pick("UpdatedAt", "updated_at");
        let key = given.database.pick("EnqueuedAt", "enqueued_at");
        for (from, to, words) in [
            (next, "Next_X", ["procedures.next", "next_x"]),
            (view, "Nothing_V", ["procedures.view", "nothing_v"]),
            (token, "UpdatedOn", ["procedures.token", "updatedon"]),
            (key, "Duration", ["parameter", "modify_notification_trx"]),
        ] {
            let spec = QueueSpec::from_toml(&text.replace(&format!("\"{from}\""), &format!("\"{to}\""))).unwrap();
            let error = install(&given.database.config(&[]), Some(&spec)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
            for word in words {
                assert!(error.message().to_lowercase().contains(&word.to_lowercase()), "{word} in {error}");
            }
        }
    }
}
