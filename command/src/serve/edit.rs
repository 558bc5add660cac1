//! A form for the values and the due time of an item that waits: only what was changed is sent, while the item is as it was shown.

use super::App;
use super::act;
use super::answer::Answer as Reply;
use super::encoding::encode;
use super::items::error_text;
use super::pages::Page;
use super::request::Request;
use super::right::Right;
use crate::output::note;
use crate::printable::printable;
use crate::sampler::Sampler;
use crate::{format, roles};
use readpast::description::{ColumnKind, ColumnSpec};
use readpast::item::Columns;
use readpast::{Answer, Batch, Edit, Item, ItemRef, ItemState, Queue, QueueSpec, Value};
use serde_json::{Value as Json, json};

/// A value of more bytes is not edited in a browser.
const LONG: usize = 100_000;
/// The beginnings of a column's fields: its text, and the box for none.
const SET: &str = "set.";
const NONE: &str = "none.";

/// Whether an item can be edited now.
pub fn waits(item: &Item<'_>) -> bool {
    matches!(item.state(), Some(ItemState::Pending | ItemState::Error | ItemState::Paused))
}

/// A column in the form: its text, whether it has a value, and why the one that was given is none of its.
struct Field<'a> {
    column: &'a ColumnSpec,
    text: String,
    is_none: bool,
    problem: Option<String>,
}

/// The columns that a browser can edit, each as it is now.
fn fields<'a>(app: &App, spec: &'a QueueSpec, item: &Item<'_>) -> Vec<Field<'a>> {
    let shown = |column: &&ColumnSpec| !column.secret && !matches!(column.kind, ColumnKind::Binary(_));
    let columns = spec.settable().filter(shown).filter(|_| !app.hides_payload);
    let fields = columns.filter_map(|column| {
        let value = item.value_of(column.name.as_str())?;
        let is_none = matches!(value, Value::Null);
        let text = format::value(Some(value), LONG).unwrap_or_default();
        (text.len() <= LONG).then_some(Field { column, text, is_none, problem: None })
    });
    fields.collect()
}

/// A browser ends lines in its own way.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

impl Field<'_> {
    fn name(&self) -> &str {
        self.column.name.as_str()
    }

    /// Takes what the form has, and puts it into `set` where it is another value.
    fn take(&mut self, spec: &QueueSpec, form: &[(String, String)], set: &mut Columns) {
        let given = |begin: &str| {
            let name = format!("{begin}{}", self.name());
            form.iter().find(|(of, _)| *of == name).map(|(_, value)| lines(value))
        };
        let Some(text) = given(SET) else { return };
        let is_same = text == lines(&self.text);
        // A text beside the box counts where it is new; where it is the old one, the box does.
        let is_none = given(NONE).is_some() && (is_same || text.is_empty());
        if is_none == self.is_none && (is_none || is_same) {
            return;
        }
        (self.text, self.is_none) = (text, is_none);
        let mut one = Columns::default();
        let is_json = is_none
            || matches!(
                self.column.kind,
                ColumnKind::Integer
                    | ColumnKind::BigInteger
                    | ColumnKind::Boolean
                    | ColumnKind::Float
                    | ColumnKind::Json
            );
        let json = if is_none { "null" } else { self.text.trim() };
        // A value that does not fit stays text; the check then reports the column's type.
        if !is_json || one.insert_json(self.name(), json).is_err() {
            one.insert(self.name(), self.text.as_str());
        }
        let checked = spec.check_edit(&Edit { set: Some(&one.to_json()), ..Edit::default() });
        self.problem = checked.err().map(|error| error.message().to_owned());
        for (name, value) in one.iter() {
            // It has been read as JSON before.
            let _ = set.insert_json(name, value);
        }
    }

    fn document(&self) -> Json {
        let (name, kind) = (self.name(), self.column.kind.to_string());
        let is_long = matches!(self.column.kind, ColumnKind::Json | ColumnKind::Text(None))
            || self.text.len() > 80
            || self.text.contains('\n');
        json!({
            "name": name, "kind": kind, "text": self.text, "none": self.is_none, "nullable": self.column.nullable,
            "long": is_long, "problem": self.problem,
        })
    }
}

/// The item of the request, or a page that says why it cannot be edited.
fn found(app: &App, queue: &Queue, request: &Request) -> Result<Batch, Reply> {
    if !app.may(request, Right::Operate) {
        return Err(app.pages.problem(app, request, 403, "Nothing can be changed here", act::CHANGES_NOTHING));
    }
    let key = queue.whole_key(request.one("key").unwrap_or_default());
    let batch = key
        .and_then(|key| Ok((queue.get(&key)?, key)))
        .map_err(|error| app.pages.problem(app, request, 400, "This item cannot be edited", &error_text(&error)));
    let (batch, key) = batch?;
    if batch.is_empty() {
        let text = crate::why::unseen(queue, &key);
        return Err(app.pages.problem(app, request, 404, "There is no such item", &text));
    }
    Ok(batch)
}

pub fn form(app: &App, sampler: &Sampler, request: &Request) -> Reply {
    let queue = &sampler.queue;
    let batch = match found(app, queue, request) {
        Ok(batch) => batch,
        Err(answer) => return answer,
    };
    let Some(item) = batch.get(0) else { return gone(app, request) };
    let due = roles::text(queue.spec(), &item, "due").unwrap_or_default();
    show(app, queue, request, 200, &item, &fields(app, queue.spec(), &item), (&due, None))
}

fn gone(app: &App, request: &Request) -> Reply {
    app.pages.problem(app, request, 404, "There is no such item", "It was deleted just now.")
}

/// The form, with what was given and the mistakes in it.
fn show(
    app: &App,
    queue: &Queue,
    request: &Request,
    status: u16,
    item: &Item<'_>,
    fields: &[Field<'_>],
    (due, due_problem): (&str, Option<String>),
) -> Reply {
    let key = item.key();
    let data = json!({
        "key": key,
        "state": item.state().map_or("", ItemState::as_str),
        "waits": waits(item),
        "token": ItemRef::from(*item).token,
        "fields": fields.iter().map(Field::document).collect::<Vec<_>>(),
        "due": due,
        "due_problem": due_problem,
        "payload_hidden": app.hides_payload,
        "confirm": app.environment.asks_twice(),
    });
    let title = format!("Edit item {}", printable(key));
    let here = format!("/queue/{}", encode(queue.name()));
    let page = Page::of_queue("edit.html", "Items", queue, title, data)
        .below_queue(queue)
        .below("Items", format!("{here}/items"))
        .below(format!("Item {}", printable(key)), format!("{here}/item?key={}", encode(key)))
        .with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, status, page)
}

/// Changes the item, if it is as it was shown.
pub fn run(app: &App, sampler: &Sampler, request: &Request) -> Reply {
    if let Some(refusal) = act::refused(app, request) {
        return refusal;
    }
    let queue = &sampler.queue;
    if let Some(refusal) = act::unconfirmed(app, queue, request) {
        return refusal;
    }
    let batch = match found(app, queue, request) {
        Ok(batch) => batch,
        Err(answer) => return answer,
    };
    let Some(item) = batch.get(0) else { return gone(app, request) };
    let spec = queue.spec();
    let (mut fields, mut set) = (fields(app, spec, &item), Columns::default());
    fields.iter_mut().for_each(|field| field.take(spec, request.given(), &mut set));
    let was_due = roles::text(spec, &item, "due").unwrap_or_default();
    let due = request.one("due").map_or(was_due.as_str(), str::trim);
    let new_due = Some(due).filter(|due| *due != was_due);
    let due_problem = spec.check_edit(&Edit { due: new_due, ..Edit::default() }).err();
    let due_problem = due_problem.map(|error| error.message().to_owned());
    if due_problem.is_some() || fields.iter().any(|field| field.problem.is_some()) {
        return show(app, queue, request, 400, &item, &fields, (due, due_problem));
    }
    if set.is_empty() && new_due.is_none() {
        return app.pages.problem(app, request, 400, "Nothing was changed", "No value is another one.");
    }
    let set = set.to_json();
    let edit = Edit { set: Some(&set), due: new_due, ..Edit::default() };
    let token = request.one("token").or(ItemRef::from(item).token);
    let item = ItemRef { key: item.key(), token };
    let outcomes = queue.on_behalf_of(&request.who).edit(&[item], &edit, None);
    let log = |result: &str| {
        note(&format!("edit of {}: {result}; key={}; by {}", queue.name(), encode(item.key), request.who));
    };
    match outcomes.as_deref().map(<[_]>::first) {
        Ok(Some(outcome)) if outcome.answer == Answer::Ok => {
            log("done");
            let back = app.notices.keep("edited: 1".to_owned()).map_or_else(String::new, |name| format!("&did={name}"));
            Reply::see(&format!("/queue/{}/item?key={}{back}", encode(queue.name()), encode(item.key)))
        }
        Ok(outcome) => {
            let answer = outcome.map_or("", |outcome| outcome.answer.as_str());
            log(answer);
            let text = format!(
                "It changed since the form was shown, or a worker holds it now ({answer}). Open it again, and look what it is."
            );
            app.pages.problem(app, request, 409, "Nothing was changed", &text)
        }
        Err(error) => {
            let why = error_text(error);
            log(&why);
            app.pages.problem(app, request, 502, "Nothing was changed", &why)
        }
    }
}
