//! An action that was confirmed: items that were chosen by key as they were shown, a small one at once, and any other behind the page.

use super::super::App;
use super::super::items::error_text;
use super::super::request::Request;
use super::{COUNTED, SEEN, TOKEN};
use crate::filter::Pages;
use crate::looked;
use readpast::OperatorVerb as Verb;
use readpast::{Answer, Batch, Error, Filter, Item, ItemRef, ItemState, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// Items that are done while the browser waits.
const SMALL: usize = 500;

/// The end of an action.
pub enum Ended {
    /// It has been done: items that were changed, and that were not.
    Now(i64, i64),
    /// It goes on, at one place or at several.
    Later(Vec<(Queue, i64)>),
}

/// The items that were shown before, as they were.
pub struct Shown<'a> {
    states: Vec<ItemState>,
    /// Tokens by key.
    tokens: BTreeMap<&'a str, &'a str>,
}

impl<'a> Shown<'a> {
    pub fn of(request: &'a Request) -> Self {
        let given = |wanted: &'static str| {
            request.given().iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        let states = given(SEEN).filter_map(|seen| ItemState::ALL.into_iter().find(|state| state.as_str() == seen));
        let tokens = given(TOKEN).filter_map(|of| of.split_once(' ')).map(|(token, key)| (key, token));
        Self { states: states.collect(), tokens: tokens.collect() }
    }

    /// Leaves only items in the states that were shown, if there are any; none where the filter has others.
    fn narrow(&self, filter: &mut Filter) {
        if filter.states.is_empty() {
            filter.states.clone_from(&self.states);
        } else if !self.states.is_empty() {
            filter.states.retain(|state| self.states.contains(state));
            if filter.states.is_empty() {
                filter.keys = Some(Vec::new());
            }
        }
    }

    /// An item as it was shown, or as it is.
    fn item<'b>(&'b self, item: Item<'b>) -> ItemRef<'b> {
        let item = ItemRef::from(item);
        ItemRef { token: self.tokens.get(item.key).copied().or(item.token), ..item }
    }
}

/// Does an action.
pub fn perform(app: &App, queue: &Queue, verb: Verb, mut filter: Filter, shown: &Shown<'_>) -> Result<Ended, String> {
    let chosen = filter.keys.clone();
    shown.narrow(&mut filter);
    let filter = verb.narrow(filter);
    match chosen {
        Some(keys) => by_key(app, queue, verb, &filter, shown).map(|ended| match ended {
            Ended::Now(done, _) => {
                // Those that are gone, or in another state by now, were left alone as well.
                let keys = count(keys.iter().collect::<BTreeSet<_>>().len());
                Ended::Now(done, (keys - done).max(0))
            }
            later @ Ended::Later(_) => later,
        }),
        None => by_filter(app, queue, verb, &filter),
    }
}

fn why(error: Error) -> String {
    error_text(&error)
}

fn by_key(app: &App, queue: &Queue, verb: Verb, filter: &Filter, shown: &Shown<'_>) -> Result<Ended, String> {
    let pages = Pages::of(queue, filter, COUNTED)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| error.message())?;
    let found = || pages.iter().flat_map(Batch::iter);
    if verb == Verb::Purge {
        // It takes no tokens.
        let is_same = |item: &Item<'_>| shown.item(*item) == ItemRef::from(*item);
        let keys: Vec<_> = found().filter(is_same).map(|item| item.key().to_owned()).collect();
        let expected = count(keys.len());
        let filter = Filter { keys: Some(keys), ..filter.clone() };
        return at_once(app, queue.begin_actions(verb, &filter, Some(expected)).map_err(why)?);
    }
    let items: Vec<_> = found().map(|item| shown.item(item)).collect();
    let outcomes = queue.act(verb, &items).map_err(why)?;
    let done = outcomes.iter().filter(|outcome| outcome.answer == Answer::Ok).count();
    Ok(Ended::Now(count(done), count(outcomes.len() - done)))
}

fn by_filter(app: &App, queue: &Queue, verb: Verb, filter: &Filter) -> Result<Ended, String> {
    let looked = looked::look(queue, filter, COUNTED, app.most);
    looked.failure.map_or(Ok(()), |error| Err(why(error)))?;
    let items = || looked.pages.iter().flat_map(Batch::iter);
    let possible = items().filter(|item| item.state().is_some_and(|state| verb.takes(state))).count();
    let expected = (!looked.more).then(|| count(possible));
    let begun = queue.begin_actions(verb, filter, expected).map_err(why)?;
    if !looked.more && items().count() <= SMALL {
        return at_once(app, begun);
    }
    begun.iter().for_each(|(queue, number)| app.runner.start(queue, *number));
    Ok(Ended::Later(begun))
}

/// Does recorded actions while the browser waits.
fn at_once(app: &App, begun: Vec<(Queue, i64)>) -> Result<Ended, String> {
    let (mut done, mut refused, mut later) = (0, 0, Vec::new());
    for (queue, number) in begun {
        match app.runner.run(&queue, number).map_err(why)? {
            Some(action) if action.state == "Done" => (done, refused) = (done + action.done, refused + action.refused),
            Some(action) if action.state == "Failed" => return Err(action.result.unwrap_or_default()),
            _ => later.push((queue, number)),
        }
    }
    Ok(if later.is_empty() { Ended::Now(done, refused) } else { Ended::Later(later) })
}

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}
