//! The terms of a handle's calls: queue, worker, kind filter, lease.

use super::kind_filter::KindFilter;
use crate::config::Config;
use crate::description::{CheckedItem, QueueSpec, elsewhere, place_of};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::Identifier;
use crate::item::{Batch, KeyForm, Rows, normalize_utc, place_of_key, utc_text};
use crate::session::{Param, ReadCells, Session};
use std::sync::Arc;
use std::time::SystemTime;

pub(crate) struct CallTerms {
    pub(crate) spec: QueueSpec,
    pub(crate) schema: Identifier,
    pub(crate) dialect: Dialect,
    pub(crate) worker: String,
    /// `None` leaves it to the queue.
    pub(crate) lease_ms: Option<i32>,
    pub(crate) most_item_bytes: usize,
    /// The kinds of items that claims take.
    pub(crate) kinds: KindFilter,
    /// The time of the run, in queues that store it.
    run_at: Option<String>,
    /// The columns that hold JSON, which only the description distinguishes from text.
    json_columns: Vec<String>,
    /// Whether claims mark their items with their numbers.
    marks_claims: bool,
    /// The place of the handle, where the queue is spread over several.
    at: Option<AtPlace>,
}

/// One of several places.
struct AtPlace {
    /// Its name, and a slash: the text before its keys.
    prefix: String,
    /// The names of all places.
    all: Vec<String>,
}

impl CallTerms {
    pub(crate) fn new(
        config: &Config,
        schema: Identifier,
        spec: QueueSpec,
        dialect: Dialect,
        run_at: String,
    ) -> Result<Self> {
        Ok(Self {
            dialect,
            schema,
            worker: config.worker(),
            lease_ms: config.lease_ms(),
            most_item_bytes: config.most_item_bytes(),
            kinds: KindFilter::new(config, &spec)?,
            run_at: spec.run_time().then_some(run_at),
            json_columns: spec.json_columns(),
            marks_claims: spec.marks_claims(),
            at: config
                .key_prefix()
                .map(|prefix| AtPlace { prefix, all: config.places().into_iter().map(str::to_owned).collect() }),
            spec,
        })
    }

    /// The time that all claims of a handle carry.
    pub(crate) fn run_at(config: &Config) -> Result<String> {
        let Some(given) = config.run_at() else { return Ok(utc_text(SystemTime::now())) };
        normalize_utc(given).ok_or_else(|| {
            let given = Excerpt(given);
            let message = format!("\"worker.run_at\" cannot be {given}; it takes a UTC time like 2026-11-21T08:30:00Z");
            Error::new(ErrorKind::InvalidConfig, message)
        })
    }

    /// The queue's name.
    pub(crate) fn queue(&self) -> &str {
        self.spec.queue.as_str()
    }

    /// The queue's name in the log, with the place.
    pub(crate) fn label(&self) -> String {
        self.place().map_or_else(|| self.queue().to_owned(), |place| format!("{} at {place}", self.queue()))
    }

    /// The place, where the queue is spread over several.
    pub(crate) fn place(&self) -> Option<&str> {
        self.at.as_ref().and_then(|at| place_of_key(&at.prefix))
    }

    /// The form of keys in requests.
    pub(crate) fn key_form(&self) -> KeyForm<'_> {
        KeyForm { composite: self.spec.has_composite_key(), prefix: self.at.as_ref().map(|at| at.prefix.as_str()) }
    }

    /// The key as the database knows it, if it can be one of this queue.
    pub(crate) fn check_key<'k>(&self, key: &'k str) -> Result<&'k str> {
        let key = self.key_form().here(key).map_err(|why| Error::new(ErrorKind::InvalidItem, why))?;
        self.spec.check_key(key).map(|()| key)
    }

    /// A key of the database as callers know it.
    pub(crate) fn key_of(&self, key: String) -> String {
        match &self.at {
            Some(at) if !key.is_empty() => at.prefix.clone() + &key,
            _ => key,
        }
    }

    /// Refuses an item that belongs at another place.
    pub(crate) fn check_place(&self, spec: &QueueSpec, item: &CheckedItem) -> Result<()> {
        let Some(at) = &self.at else { return Ok(()) };
        let Some(text) = spec.spread_text(item) else { return Ok(()) };
        let here = place_of_key(&at.prefix).unwrap_or_default();
        match place_of(at.all.iter().map(String::as_str), &text) {
            Some(place) if place != here => Err(elsewhere(here, place)),
            _ => Ok(()),
        }
    }

    /// The length of a lease where the queue's settings have none.
    pub(crate) fn described_lease_ms(&self) -> i32 {
        self.lease_ms.unwrap_or(self.spec.lease.ms)
    }

    /// The last parameters of a claim; a claim around refused items recovers none.
    pub(super) fn of_claim(
        &self,
        max: i32,
        recover: Option<i32>,
        number: Option<i64>,
    ) -> impl Iterator<Item = Param<'_>> {
        let run_at = self.run_at.as_deref().map(Param::Text);
        [Param::Integer(max), Param::OptionalInteger(self.lease_ms)]
            .into_iter()
            .chain(recover.map(Param::Integer))
            .chain(run_at)
            .chain(self.kinds.params())
            .chain(self.marks_claims.then_some(Param::OptionalLong(number)))
    }

    /// The items in `rows`, which begin at row `first`.
    pub(crate) fn batch(&self, mut rows: Rows, first: usize) -> Batch {
        if !self.json_columns.is_empty() {
            // The server may have folded the names' letters.
            rows.say_json(|name| self.json_columns.iter().any(|json| json.to_lowercase() == name.to_lowercase()));
        }
        if let Some(trace) = &self.spec.trace {
            rows.say_trace(trace.as_str());
        }
        rows.say_life(|life, name| self.spec.shows(life, name));
        Batch::new(rows, first)
    }

    /// A call that may claim.
    pub(super) fn claiming(&self, session: &mut Session, text: &Arc<str>, params: &[Param<'_>]) -> Result<Rows> {
        session.call(text, params, if self.spec.is_own() { ReadCells::OwnAnswers } else { ReadCells::Answers })
    }
}
