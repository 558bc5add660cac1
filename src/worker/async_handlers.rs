//! Handlers that are futures, by the type of the item.

use super::async_job::AsyncJob;
use super::by_type::ByType;
use super::verdict::IntoVerdict;
use crate::item::Verdict;
use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

type Handled = Pin<Box<dyn Future<Output = Verdict> + Send>>;
type Handler = Arc<dyn Fn(AsyncJob) -> Handled + Send + Sync>;
type Middleware = Arc<dyn Fn(AsyncJob, AsyncNext) -> Handled + Send + Sync>;

/// [`Handlers`](super::Handlers) whose work is futures, for [`Worker::run_async`](super::Worker::run_async). They are chosen by the
/// same rules; [`AsyncJob::in_column`] and [`AsyncJob::in_columns`] read the work that an item carries.
///
/// ```no_run
/// use readpast::worker::{AsyncHandlers, AsyncJob};
/// use readpast::{Queue, Verdict, Worker};
/// use std::error::Error;
///
/// #[derive(serde::Deserialize)]
/// struct SendMail {
///     to: String,
/// }
///
/// async fn send(job: AsyncJob) -> Result<(), Box<dyn Error + Send + Sync>> {
///     let mail: SendMail = job.in_column("Document")?; // the work is JSON in one column
///     Ok(std::fs::write("outbox", mail.to)?)
/// }
///
/// # async fn work(queue: &Queue) -> readpast::Result<()> {
/// let handlers = AsyncHandlers::new()
///     .handle("SendMail", send)
///     .handle_all(async |job: AsyncJob| Verdict::fail(format!("nobody handles {:?}", job.item().kind())))
///     .around(async |job, next| {
///         let verdict = next.call(job.clone()).await;
///         println!("{}: {verdict:?}", job.key());
///         verdict
///     });
/// Worker::new(queue).threads(100).run_async(move |job| handlers.call(job)).await
/// # }
/// ```
#[derive(Default)]
#[must_use = "a worker calls it: worker.run_async(move |job| handlers.call(job))"]
pub struct AsyncHandlers {
    by_type: ByType<Handler>,
    around: Arc<Vec<Middleware>>,
}

/// The rest of an item's handling, for [`AsyncHandlers::around`].
pub struct AsyncNext {
    handler: Result<Handler, String>,
    around: Arc<Vec<Middleware>>,
    /// How many of them the item has entered.
    entered: usize,
}

impl AsyncHandlers {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has `handler` handle the items of the type `kind`.
    ///
    /// # Panics
    /// When the type has a handler.
    pub fn handle<F: Future<Output: IntoVerdict> + Send + 'static>(
        mut self,
        kind: impl Into<String>,
        handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
    ) -> Self {
        self.by_type.add(kind.into(), boxed(handler));
        self
    }

    /// Has `handler` handle the items of all other types.
    pub fn handle_all<F: Future<Output: IntoVerdict> + Send + 'static>(
        mut self,
        handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
    ) -> Self {
        self.by_type.others = Some(boxed(handler));
        self
    }

    /// Puts `middleware` around the handling of each item; the first that is added is the outermost. It calls the rest, or decides
    /// without it. A panic of a handler passes through it.
    pub fn around<F: Future<Output = Verdict> + Send + 'static>(
        mut self,
        middleware: impl Fn(AsyncJob, AsyncNext) -> F + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.around).push(Arc::new(move |job, next| Box::pin(middleware(job, next))));
        self
    }

    /// Handles a job.
    pub fn call(&self, job: AsyncJob) -> impl Future<Output = Verdict> + Send + use<> {
        let handler = self.by_type.of(&job.item()).cloned();
        AsyncNext { handler, around: Arc::clone(&self.around), entered: 0 }.call(job)
    }
}

impl AsyncNext {
    /// Handles the job, as the middlewares that follow decide.
    pub fn call(mut self, job: AsyncJob) -> impl Future<Output = Verdict> + Send + use<> {
        match self.around.get(self.entered).cloned() {
            Some(outer) => {
                self.entered += 1;
                outer(job, self)
            }
            None => {
                self.handler.map_or_else(|why| Box::pin(ready(Verdict::retry(why))) as Handled, |handler| handler(job))
            }
        }
    }
}

fn boxed<F: Future<Output: IntoVerdict> + Send + 'static>(
    handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
) -> Handler {
    Arc::new(move |job| {
        let handled = handler(job);
        Box::pin(async move { handled.await.into_verdict() })
    })
}

impl fmt::Debug for AsyncHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncHandlers").field("types", &self.by_type.types()).finish_non_exhaustive()
    }
}

impl fmt::Debug for AsyncNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncNext").field("entered", &self.entered).finish_non_exhaustive()
    }
}
