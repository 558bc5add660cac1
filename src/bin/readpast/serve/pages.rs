//! The pages: templates that escape whatever is put into them, compiled in.

use super::App;
use super::answer::{Answer, HTML};
use super::encoding::encode;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use readpast::item::span_text;
use serde_json::{Value, json};

const FILES: [(&str, &str); 7] = [
    ("base.html", include_str!("page/base.html")),
    ("queues.html", include_str!("page/queues.html")),
    ("queue.html", include_str!("page/queue.html")),
    ("items.html", include_str!("page/items.html")),
    ("item.html", include_str!("page/item.html")),
    ("act.html", include_str!("page/act.html")),
    ("problem.html", include_str!("page/problem.html")),
];

pub const STYLE: &str = include_str!("page/style.css");
pub const SCRIPT: &str = include_str!("page/live.js");
pub const ICON: &str = include_str!("page/icon.svg");

pub struct Pages(Environment<'static>);

impl Pages {
    pub fn new() -> Result<Self> {
        let mut pages = Environment::new();
        pages.set_auto_escape_callback(|_| AutoEscape::Html);
        // A name that is misspelt is an error, and not an empty place.
        pages.set_undefined_behavior(UndefinedBehavior::Strict);
        pages.add_filter("urlencode", |text: String| encode(&text));
        pages.add_filter("plain", |text: String| super::format::plain(&text));
        for (name, text) in FILES {
            let broken = |error| Failure::Partly(format!("the page {name} is broken: {error}"), Exit::Unavailable);
            pages.add_template(name, text).map_err(broken)?;
        }
        Ok(Self(pages))
    }

    /// The page with what it shows.
    pub fn answer(&self, app: &App, status: u16, name: &str, mut shown: Value) -> Answer {
        shown["version"] = json!(env!("CARGO_PKG_VERSION"));
        shown["every"] = json!(span_text(i64::try_from(app.every.as_millis()).unwrap_or(i64::MAX)));
        shown["most"] = json!(super::format::count(app.most.into(), false));
        shown["acts"] = json!(app.acts);
        let rendered = self.0.get_template(name).and_then(|page| page.render(value(&shown)));
        match rendered {
            Ok(text) => Answer::new(status, HTML, text),
            Err(error) => {
                crate::output::note(&format!("the page {name} cannot be shown: {error:#}"));
                Answer::refusal(500, "This page is broken; the log says how.")
            }
        }
    }

    /// A page that says what is wrong.
    pub fn problem(&self, app: &App, status: u16, heading: &str, text: &str) -> Answer {
        self.answer(app, status, "problem.html", json!({"heading": heading, "text": text}))
    }
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
