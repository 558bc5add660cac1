//! The two layers behind one face, so that a body runs over both.

// Named, since other suites have this module under another path.
mod c;
mod rust;

use crate::fixture::Settings;
use readpast::item::{ColumnType, ItemRef, Lease, NewItem, Outcome, QueueStats, Receipt, Settlement};
use std::{fmt, time::Duration};

/// The layers.
pub const LAYERS: [Layer; 2] = [Layer::Rust, Layer::C];

/// A layer of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Rust,
    C,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "rust",
            Self::C => "c",
        })
    }
}

impl Layer {
    /// Opens a queue.
    pub fn open(self, settings: &Settings, queue: &str) -> Result<Box<dyn Api>, Problem> {
        match self {
            Self::Rust => rust::open(settings, queue),
            Self::C => c::open(settings, queue),
        }
    }

    /// The figures of this process, as Prometheus reads them.
    pub fn metrics(self) -> String {
        match self {
            Self::Rust => readpast::metrics().to_string(),
            Self::C => c::metrics(),
        }
    }
}

/// Why a call failed, as both layers tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The error's kind, as the Rust API spells it.
    pub kind: String,
    pub message: String,
    pub sqlstate: Option<String>,
    pub native_code: i32,
    pub operation: Option<String>,
}

/// A claimed item.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    pub key: String,
    pub token: String,
    pub attempt: i32,
    /// Name and type of each column.
    pub columns: Vec<(String, ColumnType)>,
    pub json: serde_json::Value,
    /// The same as it came.
    pub text: String,
}

impl Taken {
    /// The value of a column, whatever the case of its name.
    pub fn column(&self, name: &str) -> &serde_json::Value {
        let object = self.json.as_object().unwrap();
        object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// `action` for this item.
    pub fn settle(&self, action: readpast::item::Action) -> Settlement<'_> {
        Settlement { attempt: self.attempt, ..Settlement::control(&self.key, Some(&self.token), action) }
    }

    /// The lease to renew.
    pub fn lease(&self) -> Lease<'_> {
        Lease { key: &self.key, attempt: self.attempt }
    }
}

/// A queue behind either layer.
pub trait Api: Send + Sync {
    fn worker(&self) -> String;
    fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>, Problem>;
    fn claim(&self, max: u32, wait: Duration) -> Result<Vec<Taken>, Problem>;
    fn settle(&self, settlements: &[Settlement<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem>;
    fn settle_and_claim(&self, settlements: &[Settlement<'_>], max: u32)
    -> Result<(Vec<Outcome>, Vec<Taken>), Problem>;
    fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>, Problem>;
    fn recover(&self, max: u32) -> Result<u32, Problem>;
    /// The filter is JSON, since that is how C gives it.
    fn find(&self, filter: &str, after: Option<&str>, max: u32) -> Result<Vec<Taken>, Problem>;
    fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>, Problem>;
    fn purge(&self, filter: &str, max: u32) -> Result<u64, Problem>;
    fn stats(&self) -> Result<QueueStats, Problem>;
    fn ask(&self, what: &str, arguments: &str) -> Result<serde_json::Value, Problem>;
    /// Another handle, interrupted for itself.
    fn share(&self) -> Box<dyn Api>;
    fn interrupt(&self);
    fn resume(&self);
    fn close(&self, patience: Duration) -> Result<(), Problem>;
}

/// Calls that bodies make often.
impl dyn Api {
    /// Enqueues one item with this payload.
    pub fn put(&self, payload: &str) -> Receipt {
        self.put_item(item(payload))
    }

    /// Enqueues one item.
    pub fn put_item(&self, item: NewItem) -> Receipt {
        self.enqueue(&[item], None).unwrap().remove(0)
    }

    /// Claims one item, which must be there.
    pub fn take(&self) -> Taken {
        let mut taken = self.claim(1, Duration::ZERO).unwrap();
        assert_eq!(taken.len(), 1, "an item should be due");
        taken.remove(0)
    }

    /// Asserts that nothing is due.
    pub fn expect_empty(&self) {
        assert_eq!(self.claim(10, Duration::ZERO).unwrap(), []);
    }

    /// Settles one item and returns its outcome.
    pub fn end(&self, settlement: Settlement<'_>) -> Outcome {
        self.settle(&[settlement], None).unwrap().remove(0)
    }
}

/// An item with a payload.
pub fn item(payload: &str) -> NewItem {
    let columns = serde_json::json!({"Payload": payload});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// Bytes in JSON, as both servers write them.
pub fn base64(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut text: String = bits
        .chunks(6)
        .map(|six| {
            char::from(digits[six.iter().fold(0, |value, bit| value << 1 | usize::from(*bit)) << (6 - six.len())])
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
