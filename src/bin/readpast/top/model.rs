//! The screens that the user has opened, the selection, and the keys.

use super::terminal::Key;
use crate::concerns::{self, Concern};
use crate::printable::printable;
use crate::registry::Registry;
use crate::sampler::{Sample, Sampler};
use crate::steer::Verb;
use readpast::{Answer, Filter, Item, ItemState, Queue, Watched};
use std::sync::Arc;
use std::time::Duration;

/// Items of a list.
const LISTED: u32 = 100;
/// Rows that a search reads.
const READ: u32 = 10_000;

/// A screen.
pub enum View {
    Queues,
    Queue { name: String },
    Items { name: String, filter: Filter, title: String, rows: Vec<Row> },
    Item { name: String, key: String, state: Option<ItemState>, text: Vec<String> },
}

/// An item of a list.
pub struct Row {
    pub key: String,
    pub state: Option<ItemState>,
    pub attempt: i32,
    pub error: String,
}

/// A queue with its figures.
pub struct Sampled {
    sampler: Arc<Sampler>,
    /// The newest figures; `None` until there are any.
    latest: Option<Arc<Sample>>,
    /// Why there are no newer ones.
    pub trouble: Option<String>,
}

impl Sampled {
    pub fn queue(&self) -> &Queue {
        &self.sampler.queue
    }

    pub fn watched(&self) -> Option<&Watched> {
        self.latest.as_ref().map(|sample| &sample.watched)
    }

    pub fn concerns(&self) -> Vec<Concern> {
        concerns::of(self.trouble.as_deref(), self.watched())
    }
}

pub struct Model {
    pub schema: String,
    pub every: Duration,
    pub queues: Vec<Sampled>,
    /// The views that were opened, each with the row that is selected in it.
    pub views: Vec<(View, usize)>,
    /// The result of the last key.
    pub message: Option<String>,
    /// The action that waits for `y`.
    pub asked: Option<Asked>,
}

pub struct Asked {
    pub verb: Verb,
    pub queue: String,
    pub key: String,
}

impl Model {
    pub fn new(schema: &str, every: Duration) -> Self {
        Self {
            schema: schema.to_owned(),
            every,
            queues: Vec::new(),
            views: vec![(View::Queues, 0)],
            message: None,
            asked: None,
        }
    }

    /// The queues and figures of now.
    pub fn take(&mut self, queues: &Registry) {
        let sampled = |sampler: Arc<Sampler>| {
            let history = sampler.history();
            Sampled { latest: history.samples.last().cloned(), trouble: history.trouble, sampler }
        };
        self.queues = queues.all().into_iter().map(sampled).collect();
        let rows = self.rows();
        if let Some((_, selected)) = self.views.last_mut() {
            *selected = (*selected).min(rows.saturating_sub(1));
        }
    }

    pub fn view(&self) -> (&View, usize) {
        self.views.last().map_or((&View::Queues, 0), |(view, selected)| (view, *selected))
    }

    pub fn sampled(&self, name: &str) -> Option<&Sampled> {
        self.queues.iter().find(|sampled| sampled.queue().name() == name)
    }

    /// How many rows can be selected.
    fn rows(&self) -> usize {
        match self.view().0 {
            View::Queues => self.queues.len(),
            View::Queue { name } => {
                self.sampled(name).and_then(|sampled| sampled.watched()).map_or(0, |watched| watched.errors.len())
            }
            View::Items { rows, .. } => rows.len(),
            View::Item { .. } => 0,
        }
    }

    /// Does what a key means. True: the user wants to end.
    pub fn press(&mut self, key: Key) -> bool {
        if let Some(asked) = self.asked.take() {
            if key != Key::Char('y') {
                self.message = Some("nothing was changed".to_owned());
                return false;
            }
            self.message = Some(self.perform(&asked));
            self.reload();
            return false;
        }
        self.message = None;
        let rows = self.rows();
        match key {
            Key::Up => self.select(|selected| selected.saturating_sub(1)),
            Key::Down => self.select(|selected| (selected + 1).min(rows.saturating_sub(1))),
            Key::Enter => self.open(),
            Key::Char('q') => return true,
            Key::Back if self.views.len() == 1 => return true,
            Key::Back => {
                self.views.pop();
                self.reload();
            }
            Key::Char('f') => self.list(&[ItemState::Failed], None),
            Key::Char('w') => self.list(&[ItemState::Pending, ItemState::Error], None),
            Key::Char('i') => self.list(&[ItemState::Processing], None),
            Key::Char('p') => self.ask(&[Verb::Pause, Verb::Resume]),
            Key::Char('r') => self.ask(&[Verb::Retry, Verb::Redrive]),
            Key::Char('c') => self.ask(&[Verb::Cancel]),
            Key::Char(_) => {}
        }
        false
    }

    fn select(&mut self, to: impl FnOnce(usize) -> usize) {
        if let Some((_, selected)) = self.views.last_mut() {
            *selected = to(*selected);
        }
    }

    /// Opens what is selected.
    fn open(&mut self) {
        let (view, selected) = self.view();
        match view {
            View::Queues => {
                if let Some(sampled) = self.queues.get(selected) {
                    let name = sampled.queue().name().to_owned();
                    self.views.push((View::Queue { name }, 0));
                }
            }
            View::Queue { name } => {
                let watched = self.sampled(name).and_then(|sampled| sampled.watched());
                let error = watched.and_then(|watched| watched.errors.get(selected)).cloned();
                if let Some(error) = error {
                    let states: Vec<_> = error.state.into_iter().collect();
                    self.list(&states, Some(error.text));
                }
            }
            View::Items { name, rows, .. } => {
                let found = rows.get(selected).map(|row| (name.clone(), row.key.clone()));
                if let Some((name, key)) = found {
                    match self.read(&name, &key) {
                        Ok(view) => self.views.push((view, 0)),
                        Err(why) => self.message = Some(why),
                    }
                }
            }
            View::Item { .. } => {}
        }
    }

    /// The queue that is selected or open.
    fn queue(&self) -> Option<&Queue> {
        match self.view() {
            (View::Queues, selected) => self.queues.get(selected).map(|sampled| sampled.queue()),
            (View::Queue { name } | View::Items { name, .. } | View::Item { name, .. }, _) => {
                self.sampled(name).map(|sampled| sampled.queue())
            }
        }
    }

    /// Opens a list of items.
    fn list(&mut self, states: &[ItemState], error: Option<String>) {
        let Some(queue) = self.queue() else { return };
        let words: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        let said = error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
        let title = format!("{} {}{said}", queue.name(), words.join(", "));
        let filter = Filter { states: states.to_vec(), error, ..Filter::default() };
        match rows(queue, &filter) {
            Ok(rows) => {
                let view = View::Items { name: queue.name().to_owned(), filter, title, rows };
                if matches!(self.view().0, View::Items { .. }) {
                    self.views.pop();
                }
                self.views.push((view, 0));
            }
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Reads the list or the item of the view again.
    fn reload(&mut self) {
        let again = match self.view().0 {
            View::Items { name, filter, title, .. } => self.sampled(name).map(|sampled| {
                let rows = rows(sampled.queue(), filter).map_err(|error| error.to_string())?;
                Ok(View::Items { name: name.clone(), filter: filter.clone(), title: title.clone(), rows })
            }),
            View::Item { name, key, .. } => Some(self.read(name, key)),
            View::Queues | View::Queue { .. } => None,
        };
        match (again, self.views.last_mut()) {
            (Some(Ok(view)), Some((old, _))) => *old = view,
            (Some(Err(why)), _) => self.message = Some(why),
            _ => {}
        }
        let rows = self.rows();
        self.select(|selected| selected.min(rows.saturating_sub(1)));
    }

    /// An item in full.
    fn read(&self, name: &str, key: &str) -> Result<View, String> {
        let queue = self.sampled(name).map(|sampled| sampled.queue()).ok_or("the queue is gone")?;
        let found = queue.get(key).map_err(|error| error.to_string())?;
        let item = found.get(0).ok_or_else(|| crate::why::unseen(queue, key))?;
        let why = queue.why(key).map_err(|error| error.to_string())?;
        let text = crate::show::in_full(queue.spec(), &item, why.as_ref()).lines().map(str::to_owned).collect();
        Ok(View::Item { name: name.to_owned(), key: key.to_owned(), state: item.state(), text })
    }

    /// Asks whether to do the first of these that the item's state allows.
    fn ask(&mut self, verbs: &[Verb]) {
        let (view, selected) = self.view();
        let found = match view {
            View::Items { name, rows, .. } => rows.get(selected).map(|row| (name.clone(), row.key.clone(), row.state)),
            View::Item { name, key, state, .. } => Some((name.clone(), key.clone(), *state)),
            View::Queues | View::Queue { .. } => None,
        };
        let Some((queue, key, state)) = found else {
            self.message = Some("select an item first: f failed, w waiting, i in flight".to_owned());
            return;
        };
        let possible = |verb: &&Verb| state.is_some_and(|state| verb.takes(state));
        match verbs.iter().find(possible) {
            Some(verb) => self.asked = Some(Asked { verb: *verb, queue, key }),
            None => {
                let state = state.map_or("gone", ItemState::as_str);
                self.message = Some(format!("an item that is {state} cannot be changed this way"));
            }
        }
    }

    /// Does what was asked, and says what came of it.
    fn perform(&self, asked: &Asked) -> String {
        let Some(sampled) = self.sampled(&asked.queue) else { return "the queue is gone".to_owned() };
        let found = sampled.queue().get(&asked.key);
        match found.and_then(|batch| asked.verb.apply(sampled.queue(), &batch)) {
            Ok(outcomes) if outcomes.iter().any(|outcome| outcome.answer == Answer::Ok) => {
                format!("{}: {}", asked.verb.done(), asked.key)
            }
            Ok(_) => format!("{} was left unchanged", asked.key),
            Err(error) => error.to_string(),
        }
    }
}

fn rows(queue: &Queue, filter: &Filter) -> readpast::Result<Vec<Row>> {
    let (batch, _) = queue.look(filter, None, LISTED, READ)?;
    let row = |item: Item<'_>| {
        let error = crate::roles::text(queue.spec(), &item, "error");
        let error = error.as_deref().and_then(|error| error.lines().next()).map(printable).unwrap_or_default();
        Row { key: item.key().to_owned(), state: item.state(), attempt: item.attempt(), error }
    };
    Ok(batch.iter().map(row).collect())
}
