//! Handlers by the type of the item, with what stands around them.

use super::by_type::ByType;
use super::job::Job;
use super::verdict::IntoVerdict;
use crate::item::Verdict;
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
    by_type: ByType<Handler<'h>>,
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
        self.by_type.add(kind.into(), boxed(handler));
        self
    }

    /// Has `handler` handle the items of all other types.
    pub fn handle_all<R: IntoVerdict>(mut self, handler: impl Fn(&Job<'_>) -> R + Send + Sync + 'h) -> Self {
        self.by_type.others = Some(boxed(handler));
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
            [] => self.by_type.of(&job.item()).map_or_else(Verdict::retry, |handler| handler(job)),
            [outer, inner @ ..] => outer(job, &|job| self.within(inner, job)),
        }
    }
}

fn boxed<'h, R: IntoVerdict>(handler: impl Fn(&Job<'_>) -> R + Send + Sync + 'h) -> Handler<'h> {
    Box::new(move |job| handler(job).into_verdict())
}

impl fmt::Debug for Handlers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("types", &self.by_type.types()).finish_non_exhaustive()
    }
}
