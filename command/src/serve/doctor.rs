//! The checks of `readpast doctor`, on request.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, items};
use crate::findings;
use readpast::doctor::{Severity, check};
use serde_json::json;

pub fn page(app: &App, request: &Request) -> Answer {
    // The checks ask the catalog for much: they run on request only.
    let found = request.one("run").map(|_| check(app.queues.config(), None)).transpose();
    let data = match &found {
        Ok(None) => json!({"findings": null, "errors": 0, "warnings": 0, "fine": 0, "problem": null}),
        Ok(Some(found)) => {
            let mut shown: Vec<_> = found.iter().filter(|finding| finding.severity != Severity::Ok).cloned().collect();
            shown.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            json!({
                "findings": readpast::ask::findings(&shown),
                "errors": findings::count(found, Severity::Error),
                "warnings": findings::count(found, Severity::Warning),
                "fine": findings::count(found, Severity::Ok),
                "problem": null,
            })
        }
        Err(error) => {
            json!({"findings": null, "errors": 0, "warnings": 0, "fine": 0, "problem": items::error_text(error)})
        }
    };
    let status = if found.is_err() { 502 } else { 200 };
    app.pages.answer(app, request, status, Page::new("doctor.html", "Doctor", "Doctor", data))
}
