//! The document's own code as a worker process, beside those of the library: it knows nothing of readpast.

use crate::hand::taken;
use crate::place;
use readpast::for_tests::Session;
use readpast::item::{Action, Answer, ItemState, Outcome};
use serde_json::Value;
use std::{thread, time::Duration};
use support::dice::Dice;
use support::fixture::Settings;
use support::ledger::Ledger;

/// Takes one item after the other until it is over and nothing is left. `{worker}` and `{key}` stand in the statements.
pub fn run(
    settings: &Settings,
    task: &Value,
    worker: &str,
    mut dice: Dice,
    ledger: &Ledger,
    is_over: impl Fn() -> bool,
) {
    let mut session = Session::open(&settings.config()).unwrap();
    let take: Vec<_> = task["take"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let done = task["done"].as_str().unwrap();
    loop {
        let last = is_over();
        let Some(key) = take_one(&mut session, &take, worker) else {
            if last {
                return;
            }
            // On its timer.
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let item = taken(&key);
        ledger.claimed(std::slice::from_ref(&item));
        thread::sleep(Duration::from_micros(dice.below(3000)));
        let settlements = [item.settle(Action::Complete)];
        ledger.asking(&settlements);
        session.execute(&done.replace("{key}", &key).replace("{worker}", worker), &[]).unwrap();
        let outcome = Outcome {
            answer: Answer::Ok,
            state: Some(ItemState::Completed),
            token: String::new(),
            attempt: item.attempt,
        };
        ledger.answered(&settlements, &[outcome]);
    }
}

/// The statements in one transaction, the last of which says what was taken.
fn take_one(session: &mut Session, take: &[&str], worker: &str) -> Option<String> {
    loop {
        let taken = session.transaction(|session| {
            let mut key = None;
            for statement in take {
                let statement =
                    statement.replace("{worker}", worker).replace("{key}", key.as_deref().unwrap_or("NULL"));
                let rows = session.execute(&statement, &[])?;
                if !rows.is_empty() {
                    key = Some(place::text(rows.value(0, 0))).filter(|key| key != "NULL");
                }
            }
            Ok(key)
        });
        match taken {
            Ok(key) => return key,
            // A deadlock, or a lock that another held for too long: as such code does, it tries again.
            Err(error) if error.kind().is_transient() => {}
            Err(error) => panic!("{error}"),
        }
    }
}
