//! Handlers by the type of the item, with what stands around them.

use super::job::Job;
use super::verdict::IntoVerdict;
use crate::item::Verdict;
use std::collections::BTreeMap;
use std::fmt;

type Handler<'h> = Box<dyn Fn(&Job<'_>) -> Verdict + Send + Sync + 'h>;
type Middleware<'h> = Box<dyn Fn(&Job<'_>, Next<'_>) -> Verdict + Send + Sync + 'h>;

/// The rest of an item's handling, for [`Handlers::around`].
pub type Next<'a> = &'a dyn Fn(&Job<'_>) -> Verdict;

/// Chooses a job's handler by the type of its item. [`from_column`](super::from_column) and [`from_columns`](super::from_columns) make
/// handlers that get the work that the item carries.
///
/// An item that carries no such work becomes Failed, with the place that cannot be read, and is not tried again. One whose type has no
/// handler is tried again: a newer version of the program may know it. Items of a described table without a column for their type
/// go to the handler of the only type there is.
///
/// ```no_run
/// use readpast::worker::{Handlers, Job, from_column, from_columns};
/// use readpast::{Queue, Verdict, Worker};
///
/// #[derive(serde::Deserialize)]
/// struct SendMail {
///     to: String,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Resize {
///     file: String,
/// }
///
/// fn send(mail: SendMail, _: &Job<'_>) -> Result<(), std::io::Error> {
///     std::fs::write("outbox", mail.to)
/// }
///
/// # fn work(queue: &Queue) -> readpast::Result<()> {
/// let handlers = Handlers::new()
///     .handle("SendMail", from_column("Document", send)) // the work is JSON in one column
///     .handle("Resize", from_columns(|work: Resize, _| println!("resize {}", work.file))) // its fields are columns
///     .handle_all(|job| Verdict::fail(format!("nobody handles {:?}", job.item().kind())))
///     .around(|job, next| {
///         let verdict = next(job);
///         println!("{}: {verdict:?}", job.key());
///         verdict
///     });
/// Worker::new(queue).threads(4).run(|job| handlers.call(job))
/// # }
/// ```
#[derive(Default)]
#[must_use = "a worker calls it: worker.run(|job| handlers.call(job))"]
pub struct Handlers<'h> {
    by_type: BTreeMap<String, Handler<'h>>,
    others: Option<Handler<'h>>,
    around: Vec<Middleware<'h>>,
}

impl<'h> Handlers<'h> {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has `handler` handle the items of the type `kind`.
    ///
    /// # Panics
    /// When the type has a handler.
    pub fn handle<R: IntoVerdict>(
        mut self,
        kind: impl Into<String>,
        handler: impl Fn(&Job<'_>) -> R + Send + Sync + 'h,
    ) -> Self {
        let kind = kind.into();
        assert!(!self.by_type.contains_key(&kind), "there is a handler for the type {kind}");
        self.by_type.insert(kind, boxed(handler));
        self
    }

    /// Has `handler` handle the items of all other types.
    pub fn handle_all<R: IntoVerdict>(mut self, handler: impl Fn(&Job<'_>) -> R + Send + Sync + 'h) -> Self {
        self.others = Some(boxed(handler));
        self
    }

    /// Puts `middleware` around the handling of each item, also of one that cannot be read; the first that is added is the outermost. It
    /// calls the rest, or decides without it. A panic of a handler passes through it.
    pub fn around(mut self, middleware: impl Fn(&Job<'_>, Next<'_>) -> Verdict + Send + Sync + 'h) -> Self {
        self.around.push(Box::new(middleware));
        self
    }

    /// Handles a job.
    pub fn call(&self, job: &Job<'_>) -> Verdict {
        self.within(&self.around, job)
    }

    fn within(&self, around: &[Middleware<'h>], job: &Job<'_>) -> Verdict {
        match around {
            [] => self.choose(job),
            [outer, inner @ ..] => outer(job, &|job| self.within(inner, job)),
        }
    }

    fn choose(&self, job: &Job<'_>) -> Verdict {
        let kind = job.item().kind();
        let own = kind.and_then(|kind| self.by_type.get(kind));
        // A table of the user's without a column for it has one type of items.
        let only = || self.by_type.values().next().filter(|_| self.by_type.len() == 1 && job.value("Type").is_none());
        if let Some(handler) = own.or(self.others.as_ref()).or_else(only) {
            return handler(job);
        }
        let known: Vec<_> = self.by_type.keys().map(String::as_str).collect();
        // A newer version of the program may know it: during a roll-out both are at work.
        Verdict::retry(format!(
            "this worker has no handler for the type {}; it has some for {}",
            kind.unwrap_or("(none)"),
            known.join(", ")
        ))
    }
}

fn boxed<'h, R: IntoVerdict>(handler: impl Fn(&Job<'_>) -> R + Send + Sync + 'h) -> Handler<'h> {
    Box::new(move |job| handler(job).into_verdict())
}

impl fmt::Debug for Handlers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("types", &self.by_type.keys()).finish_non_exhaustive()
    }
}
