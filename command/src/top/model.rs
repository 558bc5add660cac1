//! The screens that the user has opened, the selection, and the keys.

use super::calls::{Asked, Call, Came, Question};
use super::terminal::Key;
use crate::concerns::{self, Concern};
use crate::registry::Registry;
use crate::sampler::{Sample, Sampler};
use readpast::OperatorVerb as Verb;
use readpast::item::RegisteredWorker;
use readpast::{Filter, ItemState, Queue, Watched};
use std::sync::Arc;
use std::time::Duration;

/// A screen.
pub enum View {
    Queues,
    Queue { name: String },
    Items { name: String, filter: Filter, title: String, rows: Vec<Row> },
    Item { name: String, key: String, state: Option<ItemState>, token: Option<String>, text: Vec<String> },
}

/// An item of a list.
pub struct Row {
    pub key: String,
    pub state: Option<ItemState>,
    pub token: Option<String>,
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
    /// The workers of the registry.
    pub workers: Arc<Vec<RegisteredWorker>>,
}

impl Sampled {
    pub fn queue(&self) -> &Queue {
        &self.sampler.queue
    }

    pub fn sampler(&self) -> Arc<Sampler> {
        Arc::clone(&self.sampler)
    }

    pub fn watched(&self) -> Option<&Watched> {
        self.latest.as_ref().map(|sample| &sample.watched)
    }

    pub fn concerns(&self) -> Vec<Concern> {
        concerns::of(self.trouble.as_deref(), self.watched(), &self.workers)
    }
}

pub struct Model {
    pub schema: String,
    pub every: Duration,
    pub queues: Vec<Sampled>,
    /// The views that were opened, each with the row that is selected in it; of an item the first line that is shown.
    pub views: Vec<(View, usize)>,
    /// The result of the last key.
    pub message: Option<String>,
    /// The action that waits for `y`.
    pub asked: Option<Asked>,
    /// The call that is under way.
    waits: Option<Waits>,
    /// How far the open item can be scrolled, and the lines of a page: by the last drawing.
    pub room: (usize, usize),
}

/// The use of the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Opens,
    /// Replaces the list that is open.
    Replaces,
    /// An action, after which the view is read again.
    Does,
    /// The user has gone back.
    Nothing,
}

/// The next thing to do after a key.
pub enum Step {
    Stay,
    End,
    Call(Box<Call>),
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
            waits: None,
            room: (0, 0),
        }
    }

    /// The queues and figures of now.
    pub fn take(&mut self, queues: &Registry) {
        let sampled = |sampler: Arc<Sampler>| {
            let history = sampler.history();
            Sampled {
                latest: history.samples.last().cloned(),
                trouble: history.trouble,
                workers: history.workers,
                sampler,
            }
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
            View::Item { .. } => self.room.0 + 1,
        }
    }

    /// Whether the user waits for a call.
    pub fn is_waiting(&self) -> bool {
        self.waits.is_some_and(|waits| waits != Waits::Nothing)
    }

    /// Does what a key means, but for calls.
    pub fn press(&mut self, key: Key) -> Step {
        if let Some(asked) = self.asked.take() {
            if key != Key::Char('y') {
                self.message = Some("nothing was changed".to_owned());
                return Step::Stay;
            }
            let sampled = self.sampled(&asked.queue).map(|sampled| Call::of(sampled, Question::Do(asked)));
            return self.call(sampled, Waits::Does);
        }
        self.message = None;
        let (rows, page) = (self.rows(), self.room.1.max(1));
        match key {
            Key::Up => self.select(|selected| selected.saturating_sub(1)),
            Key::Down => self.select(|selected| (selected + 1).min(rows.saturating_sub(1))),
            Key::PageUp => self.select(|selected| selected.saturating_sub(page)),
            Key::PageDown => self.select(|selected| (selected + page).min(rows.saturating_sub(1))),
            Key::Enter => return self.open(),
            Key::Char('q') => return Step::End,
            Key::Back if self.views.len() == 1 && !self.is_waiting() => return Step::End,
            Key::Back => return self.back(),
            Key::Char('f') => return self.list(&[ItemState::Failed], None),
            Key::Char('w') => return self.list(&[ItemState::Pending, ItemState::Error], None),
            Key::Char('i') => return self.list(&[ItemState::Processing], None),
            Key::Char('p') => self.ask(&[Verb::Pause, Verb::Resume]),
            Key::Char('r') => self.ask(&[Verb::Retry, Verb::Redrive]),
            Key::Char('c') => self.ask(&[Verb::Cancel]),
            Key::Char(_) => {}
        }
        Step::Stay
    }

    fn select(&mut self, to: impl FnOnce(usize) -> usize) {
        if let Some((_, selected)) = self.views.last_mut() {
            *selected = to(*selected);
        }
    }

    /// One call at a time.
    fn call(&mut self, call: Option<Call>, waits: Waits) -> Step {
        if self.waits.is_some() {
            self.message = Some("the database has not answered yet".to_owned());
            return Step::Stay;
        }
        let Some(call) = call else { return Step::Stay };
        self.waits = Some(waits);
        Step::Call(Box::new(call))
    }

    /// Takes the answer to the call.
    pub fn receive(&mut self, came: Came) -> Step {
        let waits = self.waits.take();
        match came {
            Came::Done(text) => {
                self.message = Some(text);
                return self.reload();
            }
            Came::View(_) if waits == Some(Waits::Nothing) => {}
            Came::View(Err(why)) => self.message = Some(why),
            Came::View(Ok(view)) => {
                let replaces = waits == Some(Waits::Replaces) && self.views.len() > 1;
                let selected = replaces.then(|| self.views.pop()).flatten().filter(|(old, _)| old.is_same(&view));
                self.views.push((*view, selected.map_or(0, |(_, selected)| selected)));
            }
        }
        Step::Stay
    }

    /// Leaves a view, or the wait for one.
    fn back(&mut self) -> Step {
        match self.waits {
            Some(Waits::Opens) => self.waits = Some(Waits::Nothing),
            Some(Waits::Replaces) => {
                self.waits = Some(Waits::Nothing);
                self.views.pop();
            }
            Some(Waits::Does | Waits::Nothing) => drop(self.views.pop()),
            None => {
                self.views.pop();
                return self.reload();
            }
        }
        Step::Stay
    }

    /// Opens what is selected.
    fn open(&mut self) -> Step {
        let (view, selected) = self.view();
        match view {
            View::Queues => {
                if let Some(sampled) = self.queues.get(selected) {
                    let name = sampled.queue().name().to_owned();
                    self.views.push((View::Queue { name }, 0));
                }
                Step::Stay
            }
            View::Queue { name } => {
                let watched = self.sampled(name).and_then(|sampled| sampled.watched());
                let Some(error) = watched.and_then(|watched| watched.errors.get(selected)).cloned() else {
                    return Step::Stay;
                };
                let states: Vec<_> = error.state.into_iter().collect();
                self.list(&states, Some(error.text))
            }
            View::Items { name, rows, .. } => {
                let key = rows.get(selected).map(|row| row.key.clone());
                let call = self.sampled(name).zip(key).map(|(of, key)| Call::of(of, Question::Item { key }));
                self.call(call, Waits::Opens)
            }
            View::Item { .. } => Step::Stay,
        }
    }

    /// The queue that is selected or open.
    fn chosen(&self) -> Option<&Sampled> {
        match self.view() {
            (View::Queues, selected) => self.queues.get(selected),
            (View::Queue { name } | View::Items { name, .. } | View::Item { name, .. }, _) => self.sampled(name),
        }
    }

    /// Opens a list of items.
    fn list(&mut self, states: &[ItemState], error: Option<String>) -> Step {
        let words: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        let said = error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
        let filter = Filter { states: states.to_vec(), error, ..Filter::default() };
        let call = self.chosen().map(|sampled| {
            let title = format!("{} {}{said}", sampled.queue().name(), words.join(", "));
            Call::of(sampled, Question::Items { filter, title })
        });
        let replaces = matches!(self.view().0, View::Items { .. });
        self.call(call, if replaces { Waits::Replaces } else { Waits::Opens })
    }

    /// Reads the list or the item of the view again.
    fn reload(&mut self) -> Step {
        let again = match self.view().0 {
            View::Items { name, filter, title, .. } => {
                Some((name, Question::Items { filter: filter.clone(), title: title.clone() }))
            }
            View::Item { name, key, .. } => Some((name, Question::Item { key: key.clone() })),
            View::Queues | View::Queue { .. } => None,
        };
        let call = again.and_then(|(name, question)| Some(Call::of(self.sampled(name)?, question)));
        self.call(call, Waits::Replaces)
    }

    /// Asks whether to do the first of these that the item's state allows.
    fn ask(&mut self, verbs: &[Verb]) {
        let (view, selected) = self.view();
        let found = match view {
            View::Items { name, rows, .. } => rows.get(selected).map(|row| (name, &row.key, row.state, &row.token)),
            View::Item { name, key, state, token, .. } => Some((name, key, *state, token)),
            View::Queues | View::Queue { .. } => None,
        };
        let Some((queue, key, state, token)) = found else {
            self.message = Some("select an item first: f failed, w waiting, i in flight".to_owned());
            return;
        };
        let possible = state.and_then(|state| Some((verbs.iter().find(|verb| verb.takes(state))?, state)));
        match possible {
            Some((verb, state)) => {
                let (queue, key, token) = (queue.clone(), key.clone(), token.clone());
                self.asked = Some(Asked { verb: *verb, queue, key, state, token });
            }
            None => {
                let state = state.map_or("gone", ItemState::as_str);
                self.message = Some(format!("an item that is {state} cannot be changed this way"));
            }
        }
    }
}

impl View {
    /// Whether it shows the same list or item.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Items { name, title, .. }, Self::Items { name: of, title: other, .. })
            | (Self::Item { name, key: title, .. }, Self::Item { name: of, key: other, .. }) => {
                name == of && title == other
            }
            _ => false,
        }
    }
}
