//! An item with its asynchronous handler.

use super::{job::Job, unreadable::Unreadable, work};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Batch, Item};
use serde_core::de::DeserializeOwned;
use std::fmt;

/// An item with its asynchronous handler, as a [`Job`] that a future may own.
#[derive(Clone)]
pub struct AsyncJob {
    batch: Batch,
    index: usize,
    engine: Engine,
}

impl AsyncJob {
    /// The job of the item at `index`; `None` where there is none.
    pub(super) fn new(batch: &Batch, index: usize, engine: &Engine) -> Option<Self> {
        batch.get(index)?;
        Some(Self { batch: batch.clone(), index, engine: engine.clone() })
    }

    /// The job as other handlers get it.
    #[must_use]
    pub fn as_job(&self) -> Job<'_> {
        Job::new(self.item(), &self.engine)
    }

    /// The item as it was claimed.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        self.batch.get(self.index).expect("it was there")
    }

    /// The primary key, as text.
    #[must_use]
    pub fn key(&self) -> &str {
        self.item().key()
    }

    /// Which attempt this is, counted from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.item().attempt()
    }

    /// As [`Job::text`].
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        Job::new(self.item(), &self.engine).text(name)
    }

    /// The JSON in one column as a `T`, as [`from_column`](super::from_column) reads it.
    ///
    /// ```
    /// # #[derive(serde::Deserialize)]
    /// # struct SendMail { to: String }
    /// async fn send(job: readpast::worker::AsyncJob) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ///     let mail: SendMail = job.in_column("Document")?;
    ///     Ok(std::fs::write("outbox", mail.to)?)
    /// }
    /// ```
    ///
    /// # Errors
    /// The item carries no `T`. A handler's `?` fails the item with it.
    pub fn in_column<T: DeserializeOwned>(&self, column: &str) -> std::result::Result<T, Unreadable> {
        work::in_column(&self.item(), column)
    }

    /// The columns as a `T`, as [`from_columns`](super::from_columns) reads them.
    ///
    /// # Errors
    /// As [`AsyncJob::in_column`].
    pub fn in_columns<T: DeserializeOwned>(&self) -> std::result::Result<T, Unreadable> {
        work::in_columns(&self.item())
    }

    /// As [`Job::step`], on a thread of the runtime for work that blocks.
    ///
    /// # Errors
    /// As [`Job::step`]; [`ErrorKind::Closed`] when the runtime ends.
    pub async fn step(&self, step: &str) -> Result<Answer> {
        let (job, step) = (self.clone(), step.to_owned());
        let recorded = tokio::task::spawn_blocking(move || job.as_job().step(&step)).await;
        recorded
            .unwrap_or_else(|error| Err(Error::new(ErrorKind::Closed, format!("the step was not recorded: {error}"))))
    }

    /// As [`Job::progress`].
    ///
    /// # Errors
    /// As [`Job::progress`].
    pub fn progress<'t>(&self, percent: impl Into<Option<i32>>, text: impl Into<Option<&'t str>>) -> Result<()> {
        self.as_job().progress(percent, text)
    }

    /// As [`Job::is_lost`]. The future is dropped then, at its next wait.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.as_job().is_lost()
    }

    /// As [`Job::is_stopping`].
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.engine.is_stopping()
    }
}

impl fmt::Debug for AsyncJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncJob").field("key", &self.key()).field("attempt", &self.attempt()).finish_non_exhaustive()
    }
}
