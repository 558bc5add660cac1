//! The checks of `readpast doctor`, on request.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, items};
use crate::findings;
use readpast::doctor::{Finding, Severity, check_queues};
use serde_json::json;

/// The form that runs the checks. They ask the catalog for much: a link is not enough.
pub fn page(app: &App, request: &Request) -> Answer {
    show(app, request, Ok(None))
}

/// Runs the checks of the queues that this server shows.
pub fn run(app: &App, request: &Request) -> Answer {
    if !app.auth.trusts_form(&request.headers, request.one("secret")) {
        return app.pages.problem(app, request, 403, "Nothing was checked", super::auth::STRANGE_FORM);
    }
    show(app, request, check_queues(app.queues.config(), app.queues.only()).map(Some))
}

fn show(app: &App, request: &Request, found: readpast::Result<Option<Vec<Finding>>>) -> Answer {
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
    let page = Page::new("doctor.html", "Doctor", "Doctor", data).with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, status, page)
}
