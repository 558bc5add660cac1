//! The pages: templates that escape whatever is put into them, compiled in; or the same values as JSON.

use super::App;
use super::answer::{Answer, HTML, JSON};
use super::encoding::encode;
use super::request::Request;
use super::times;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::format;
use crate::printable::printable;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use readpast::Queue;
use readpast::item::{utc_ms, utc_text};
use serde_json::{Value, json};
use std::time::SystemTime;

const FILES: [(&str, &str); 19] = [
    ("base.html", include_str!("page/base.html")),
    ("parts.html", include_str!("page/parts.html")),
    ("overview.html", include_str!("page/overview.html")),
    ("queues.html", include_str!("page/queues.html")),
    ("queue.html", include_str!("page/queue.html")),
    ("choose.html", include_str!("page/choose.html")),
    ("items.html", include_str!("page/items.html")),
    ("item.html", include_str!("page/item.html")),
    ("act.html", include_str!("page/act.html")),
    ("edit.html", include_str!("page/edit.html")),
    ("failed.html", include_str!("page/failed.html")),
    ("workers.html", include_str!("page/workers.html")),
    ("limits.html", include_str!("page/limits.html")),
    ("pauses.html", include_str!("page/pauses.html")),
    ("schedules.html", include_str!("page/schedules.html")),
    ("operations.html", include_str!("page/operations.html")),
    ("operation.html", include_str!("page/operation.html")),
    ("doctor.html", include_str!("page/doctor.html")),
    ("problem.html", include_str!("page/problem.html")),
];

pub const STYLE: &str = include_str!("page/style.css");
pub const LIVE: &str = include_str!("page/live.js");
pub const SEARCH: &str = include_str!("page/search.js");
pub const ICON: &str = include_str!("page/icon.svg");

/// The sections of the navigation, and their addresses.
const SECTIONS: [(&str, &str); 8] = [
    ("Overview", "/"),
    ("Queues", "/queues"),
    ("Items", "/items"),
    ("Failed", "/failed"),
    ("Workers", "/workers"),
    ("Schedules", "/schedules"),
    ("Operations", "/operations"),
    ("Doctor", "/doctor"),
];

/// A page: its template, where it stands, and what it shows.
pub struct Page {
    template: &'static str,
    title: String,
    section: &'static str,
    /// The pages above it, with their addresses.
    trail: Vec<(String, String)>,
    data: Value,
    /// Values for the template alone.
    markup: Vec<(&'static str, Value)>,
}

impl Page {
    pub fn new(template: &'static str, section: &'static str, title: impl Into<String>, data: Value) -> Self {
        Self { template, title: title.into(), section, trail: Vec::new(), data, markup: Vec::new() }
    }

    /// A page of a queue; the queue stands in the data.
    pub fn of_queue(
        template: &'static str,
        section: &'static str,
        queue: &Queue,
        title: impl Into<String>,
        mut data: Value,
    ) -> Self {
        data["queue"] = json!(queue.name());
        Self::new(template, section, title, data).below("Queues", "/queues")
    }

    /// The page is below that of its queue.
    pub fn below_queue(self, queue: &Queue) -> Self {
        self.below(queue.name(), format!("/queue/{}", encode(queue.name())))
    }

    /// The page is below another.
    pub fn below(mut self, name: impl Into<String>, address: impl Into<String>) -> Self {
        self.trail.push((name.into(), address.into()));
        self
    }

    /// Something for the template that is not among the data.
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.markup.push((name, value));
        self
    }
}

pub struct Pages(Environment<'static>);

impl Pages {
    pub fn new() -> Result<Self> {
        let mut pages = Environment::new();
        pages.set_auto_escape_callback(|_| AutoEscape::Html);
        // A name that is misspelt is an error, and not an empty place.
        pages.set_undefined_behavior(UndefinedBehavior::Strict);
        pages.add_filter("urlencode", |text: String| encode(&text));
        pages.add_filter("plain", |text: String| printable(&text));
        pages.add_filter("count", |value: Option<i64>, capped: Option<bool>| {
            value.map_or_else(|| "–".to_owned(), |value| format::count(value, capped.unwrap_or(false)))
        });
        pages.add_filter("span", format::span);
        pages.add_filter("exact", |utc: String| times::exact(&utc));
        pages.add_filter("since", |utc: String| times::since(&utc, now_ms()));
        for (name, text) in FILES {
            let broken = |error| Failure::Partly(format!("the page {name} is broken: {error}"), Exit::Unavailable);
            pages.add_template(name, text).map_err(broken)?;
        }
        Ok(Self(pages))
    }

    /// The page, or its data where the client asked for JSON.
    pub fn answer(&self, app: &App, request: &Request, status: u16, page: Page) -> Answer {
        let now = utc_text(SystemTime::now());
        if request.wants_json() {
            let mut document = json!({"title": page.title, "now": now, "environment": app.environment.name()});
            if let (Some(all), Value::Object(data)) = (document.as_object_mut(), page.data) {
                all.extend(data);
            }
            return Answer::new(status, JSON, document.to_string());
        }
        let mut shown = page.data;
        shown["page"] = json!({
            "title": page.title, "section": page.section, "sections": SECTIONS, "trail": page.trail, "as_json": request.as_json(),
        });
        shown["site"] = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "now": now,
            "every_ms": i64::try_from(app.every.as_millis()).unwrap_or(i64::MAX),
            "most": app.most,
            "acts": app.may(request, super::right::Right::Operate),
            "environment": app.environment.name(),
            "color": app.environment.color(),
        });
        for (name, value) in page.markup {
            shown[name] = value;
        }
        let rendered = self.0.get_template(page.template).and_then(|template| template.render(value(&shown)));
        match rendered {
            Ok(text) => Answer::new(status, HTML, text),
            Err(error) => {
                crate::output::note(&format!("the page {} cannot be shown: {error:#}", page.template));
                Answer::refusal(500, "This page is broken; the log says how.")
            }
        }
    }

    /// A page that says what is wrong.
    pub fn problem(&self, app: &App, request: &Request, status: u16, heading: &str, text: &str) -> Answer {
        let page = Page::new("problem.html", "", heading, json!({"error": heading, "text": text}));
        self.answer(app, request, status, page)
    }
}

fn now_ms() -> i64 {
    utc_ms(&utc_text(SystemTime::now())).unwrap_or_default()
}

/// The same value for templates.
fn value(json: &Value) -> minijinja::Value {
    match json {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(known) => (*known).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => list.iter().map(value).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            minijinja::Value::from_pairs(members.iter().map(|(name, json)| (name.as_str(), value(json))))
        }
    }
}
