//! Failed items and those that wait for another attempt, grouped by what their errors have in common.

use super::answer::Answer;
use super::fingerprint::{common, fingerprint};
use super::pages::Page;
use super::request::Request;
use super::{App, items};
use crate::looked;
use crate::roles;
use crate::sampler::Sampler;
use readpast::item::Trouble;
use readpast::{Batch, Filter, ItemState};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Items of a queue whose times are read, whatever its size.
const READ: u32 = 500;

/// Errors that say the same but for numbers.
struct Group {
    state: ItemState,
    items: i64,
    /// The text of one, the number of texts, and the key of an item.
    text: String,
    texts: usize,
    key: String,
    first: Option<String>,
    last: Option<String>,
    /// The worker of the last.
    worker: Option<String>,
}

pub fn page(app: &App, request: &Request) -> Answer {
    let (mut groups, mut problems, mut partial) = (Vec::new(), Vec::new(), Vec::new());
    for sampler in app.queues.all() {
        let Some(sample) = sampler.latest().0.filter(|sample| !sample.watched.errors.is_empty()) else { continue };
        let mut found = grouped(&sample.watched.errors);
        match times(app, &sampler, &mut found) {
            Ok(true) => partial.push(sampler.queue.name().to_owned()),
            Ok(false) => {}
            Err(error) => problems.push(json!({"queue": sampler.queue.name(), "text": items::error_text(&error)})),
        }
        groups.extend(found.into_iter().map(|(print, group)| document(sampler.queue.name(), &print.0, group)));
    }
    groups.sort_by_key(|group| (group["state"] != "Failed", -group["items"].as_i64().unwrap_or_default()));
    let data = json!({"groups": groups, "partial": partial, "problems": problems, "read": READ});
    app.pages.answer(app, request, 200, Page::new("failed.html", "Failed", "Failed", data))
}

type Groups = BTreeMap<(String, &'static str), Group>;

/// The sampled errors by fingerprint and state.
fn grouped(errors: &[Trouble]) -> Groups {
    let mut groups = Groups::new();
    for trouble in errors {
        let Some(state) = trouble.state else { continue };
        let group = groups.entry((fingerprint(&trouble.text), state.as_str())).or_insert_with(|| Group {
            state,
            items: 0,
            text: trouble.text.clone(),
            texts: 0,
            key: trouble.key.clone(),
            first: None,
            last: None,
            worker: None,
        });
        group.items += trouble.items;
        group.texts += 1;
    }
    groups
}

/// Adds the first and the last time of each group, by one bounded search. True: there are more items than were read.
fn times(app: &App, sampler: &Sampler, groups: &mut Groups) -> readpast::Result<bool> {
    let queue = &sampler.queue;
    let filter = Filter { states: vec![ItemState::Failed, ItemState::Error], ..Filter::default() };
    let looked = looked::look(queue, &filter, READ, app.most);
    for item in looked.pages.iter().flat_map(Batch::iter) {
        let (Some(state), Some(error)) = (item.state(), roles::text(queue.spec(), &item, "error")) else { continue };
        // As the samples have it: the first line, 200 characters of it.
        let line: String = error.lines().next().unwrap_or_default().chars().take(200).collect();
        let Some(group) = groups.get_mut(&(fingerprint(&line), state.as_str())) else { continue };
        let Some(at) = roles::text(queue.spec(), &item, "changed") else { continue };
        if group.first.as_ref().is_none_or(|first| at < *first) {
            group.first = Some(at.clone());
        }
        if group.last.as_ref().is_none_or(|last| at > *last) {
            group.last = Some(at);
            item.key().clone_into(&mut group.key);
            group.worker = roles::text(queue.spec(), &item, "owner");
        }
    }
    looked.failure.map_or(Ok(looked.more), Err)
}

fn document(queue: &str, print: &str, group: Group) -> Value {
    let search = if group.texts == 1 { group.text.as_str() } else { common(print) };
    json!({
        "queue": queue, "state": group.state.as_str(), "items": group.items, "fingerprint": print, "text": group.text,
        "search": search, "key": group.key, "first": group.first, "last": group.last, "worker": group.worker,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_in_a_number_are_one_group() {
        let trouble = |text: &str, items, state| Trouble {
            state: Some(state),
            text: text.to_owned(),
            items,
            key: text.to_owned(),
        };
        let groups = grouped(&[
            trouble("mailbox r1 is full", 2, ItemState::Failed),
            trouble("mailbox r22 is full", 3, ItemState::Failed),
            trouble("mailbox r3 is full", 1, ItemState::Error),
        ]);
        let found: Vec<_> =
            groups.iter().map(|((print, state), group)| (print.as_str(), *state, group.items)).collect();
        assert_eq!(found, [("mailbox r# is full", "Error", 1), ("mailbox r# is full", "Failed", 5)]);
        let shown = document("Mail", "mailbox r# is full", groups.into_values().next_back().unwrap());
        assert_eq!(shown["search"], "mailbox r", "the longest text that all of them have");
    }
}
