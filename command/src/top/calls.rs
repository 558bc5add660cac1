//! Calls to the database, on a thread of their own: the terminal answers to keys and signals while one is under way.

use super::model::{Row, Sampled, View};
use crate::looked;
use crate::sampler::Sampler;
use readpast::OperatorVerb as Verb;
use readpast::{Answer, Batch, Filter, Item, ItemRef, ItemState, Queue};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Items of a list.
const LISTED: u32 = 100;
/// Rows that a search reads.
const READ: u32 = 10_000;

/// A question to the database.
#[derive(Clone)]
pub enum Question {
    Items { filter: Filter, title: String },
    Item { key: String },
    Do(Asked),
}

/// An action on an item as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub verb: Verb,
    pub queue: String,
    pub key: String,
    pub state: ItemState,
    /// `None` in a described table that has none.
    pub token: Option<String>,
}

pub struct Call {
    pub sampler: Arc<Sampler>,
    pub question: Question,
}

/// The answer to a call.
pub enum Came {
    /// A list or an item, or why there is none.
    View(Result<Box<View>, String>),
    /// The report on an action.
    Done(String),
}

pub struct Calls {
    calls: Sender<Call>,
    answers: Receiver<Came>,
}

impl Calls {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let (calls, received) = channel::<Call>();
        let (send, answers) = channel();
        let makes = move || received.iter().map(Call::make).all(|came| send.send(came).is_ok());
        thread::Builder::new().name("calls".to_owned()).spawn(makes)?;
        Ok(Self { calls, answers })
    }

    pub fn make(&self, call: Call) {
        // The thread lives as long as we do.
        let _ = self.calls.send(call);
    }

    pub fn came(&self) -> Option<Came> {
        self.answers.try_recv().ok()
    }
}

impl Call {
    pub fn of(sampled: &Sampled, question: Question) -> Self {
        Self { sampler: sampled.sampler(), question }
    }

    fn make(self) -> Came {
        let queue = &self.sampler.queue;
        match self.question {
            Question::Items { filter, title } => {
                let name = queue.name().to_owned();
                let rows = rows(queue, &filter).map_err(|error| error.to_string());
                Came::View(rows.map(|rows| View::Items { name, filter, title, rows }.into()))
            }
            Question::Item { key } => Came::View(read(queue, key).map(Box::new)),
            Question::Do(asked) => Came::Done(perform(queue, &asked)),
        }
    }
}

fn rows(queue: &Queue, filter: &Filter) -> readpast::Result<Vec<Row>> {
    let looked = looked::look(queue, filter, LISTED, READ);
    looked.failure.map_or(Ok(()), Err)?;
    let row = |item: Item<'_>| {
        let error = crate::roles::text(queue.spec(), &item, "error");
        let error = error.as_deref().and_then(|error| error.lines().next()).unwrap_or_default().to_owned();
        let (key, token) = (item.key().to_owned(), token(item));
        Row { key, state: item.state(), token, attempt: item.attempt(), error }
    };
    Ok(looked.pages.iter().flat_map(Batch::iter).map(row).collect())
}

/// An item in full.
fn read(queue: &Queue, key: String) -> Result<View, String> {
    let found = queue.get(&key).map_err(|error| error.to_string())?;
    let item = found.get(0).ok_or_else(|| crate::why::unseen(queue, &key))?;
    let why = queue.why(&key).map_err(|error| error.to_string())?;
    let text = crate::show::in_full(queue.spec(), &item, why.as_ref()).lines().map(str::to_owned).collect();
    let (state, token) = (item.state(), token(item));
    Ok(View::Item { name: queue.name().to_owned(), key, state, token, text })
}

/// The token of an item as it is shown.
fn token(item: Item<'_>) -> Option<String> {
    ItemRef::from(item).token.map(str::to_owned)
}

/// Does what was asked, if the item is still as it was shown, and says what came of it.
fn perform(queue: &Queue, asked: &Asked) -> String {
    let changed = || format!("{} was left unchanged: it is no longer as it was shown", asked.key);
    if asked.token.is_none() {
        // Only its state shows a change.
        match queue.get(&asked.key) {
            Ok(found) if found.get(0).and_then(|item| item.state()) == Some(asked.state) => {}
            Ok(_) => return changed(),
            Err(error) => return error.to_string(),
        }
    }
    match queue.act(asked.verb, &[ItemRef { key: &asked.key, token: asked.token.as_deref() }]) {
        Ok(outcomes) if outcomes.iter().any(|outcome| outcome.answer == Answer::Ok) => {
            format!("{}: {}", asked.verb.done(), asked.key)
        }
        Ok(_) => changed(),
        Err(error) => error.to_string(),
    }
}
