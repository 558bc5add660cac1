//! The Rust layer.

use super::{Api, Problem, Taken};
use crate::fixture::Settings;
use readpast::{
    error::Error,
    item::{Batch, Filter, ItemRef, Lease, NewItem, Outcome, QueueStats, Receipt, Settlement},
    queue::Queue,
};
use std::time::Duration;

pub fn open(settings: &Settings, queue: &str) -> Result<Box<dyn Api>, Problem> {
    Ok(Box::new(Queue::open(&settings.config(), queue)?))
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()),
            message: error.message().to_owned(),
            sqlstate: error.sqlstate().map(str::to_owned),
            native_code: error.native_code(),
            operation: error.operation().map(str::to_owned),
        }
    }
}

fn taken(batch: &Batch) -> Vec<Taken> {
    let columns: Vec<_> = batch.columns().iter().map(|column| (column.name.clone(), column.kind)).collect();
    batch
        .iter()
        .map(|item| Taken {
            key: item.key().to_owned(),
            token: item.token().to_owned(),
            attempt: item.attempt(),
            columns: columns.clone(),
            json: serde_json::from_str(&item.to_json()).unwrap(),
            text: item.to_json(),
        })
        .collect()
}

impl Api for Queue {
    fn worker(&self) -> String {
        self.worker().to_owned()
    }

    fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>, Problem> {
        Ok(self.enqueue(items, operation)?)
    }

    fn claim(&self, max: u32, wait: Duration) -> Result<Vec<Taken>, Problem> {
        Ok(taken(&self.claim(max, wait)?))
    }

    fn settle(&self, settlements: &[Settlement<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem> {
        Ok(self.settle(settlements, operation)?)
    }

    fn settle_and_claim(
        &self,
        settlements: &[Settlement<'_>],
        max: u32,
    ) -> Result<(Vec<Outcome>, Vec<Taken>), Problem> {
        let (outcomes, batch) = self.settle_and_claim(settlements, None, max)?;
        Ok((outcomes, taken(&batch)))
    }

    fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>, Problem> {
        Ok(self.renew(leases)?)
    }

    fn recover(&self, max: u32) -> Result<u32, Problem> {
        Ok(self.recover(max)?)
    }

    fn find(&self, filter: &str, after: Option<&str>, max: u32) -> Result<Vec<Taken>, Problem> {
        Ok(taken(&self.find(&Filter::from_json(filter)?, after, max)?))
    }

    fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem> {
        Ok(self.redrive(items, operation)?)
    }

    fn purge(&self, filter: &str, max: u32) -> Result<u64, Problem> {
        Ok(self.purge(&Filter::from_json(filter)?, max)?)
    }

    fn stats(&self) -> Result<QueueStats, Problem> {
        Ok(self.stats()?)
    }

    fn ask(&self, what: &str, arguments: &str) -> Result<serde_json::Value, Problem> {
        Ok(serde_json::from_str(&self.ask(what, Some(arguments))?).unwrap())
    }

    fn share(&self) -> Box<dyn Api> {
        Box::new(self.share())
    }

    fn interrupt(&self) {
        self.interrupt();
    }

    fn resume(&self) {
        self.resume();
    }

    fn close(&self, patience: Duration) -> Result<(), Problem> {
        Ok(self.close(patience)?)
    }
}
