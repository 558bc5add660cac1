//! The checks of `readpast doctor`, on request.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, items};
use readpast::ask;
use readpast::doctor::{Finding, check_queues};
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
    let mut data = match &found {
        // The answer of `readpast doctor`, the worst first.
        Ok(Some(found)) => {
            let mut found = found.clone();
            found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            ask::doctor(&found)
        }
        Ok(None) | Err(_) => json!({"findings": null, "errors": 0, "warnings": 0}),
    };
    data["problem"] = json!(found.as_ref().err().map(items::error_text));
    let status = if found.is_err() { 502 } else { 200 };
    let page = Page::new("doctor.html", "Doctor", "Doctor", data).with("secret", json!(app.auth.secret()));
    app.pages.answer(app, request, status, page)
}
