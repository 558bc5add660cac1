//! The table of settings.

use super::{connection, refuse};
use crate::error::{Excerpt, Result};
use crate::ident::{Identifier, did_you_mean};
use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// The values that a setting takes.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// A connection string. Holds a password, so it is never shown.
    ConnectionString,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name of a database object.
    Name,
    /// Text of at most so many characters.
    Text(usize),
    /// A whole number in this range.
    Number(u32, u32),
    /// A JSON array of texts: at most so many of them, each of at most so many characters.
    Texts(usize, usize),
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key; a unit, where it has one, is the key's last part.
    pub key: &'static str,
    /// The values it takes.
    pub kind: SettingKind,
    /// Its default.
    pub default: &'static str,
    /// Its meaning, in a sentence.
    pub meaning: &'static str,
}

/// The most kinds of items that a claim can name.
pub(crate) const MAX_KINDS: usize = 100;

/// The setting for each place, by its name in the reference.
pub(super) const PLACES: &str = "places.NAME";

/// All settings.
pub const SETTINGS: [Setting; 35] = [
    Setting {
        key: "connection",
        kind: SettingKind::ConnectionString,
        default: "",
        meaning: "ODBC connection string, with the driver in it. Required, but with `places.NAME`.",
    },
    Setting {
        key: PLACES,
        kind: SettingKind::ConnectionString,
        default: "",
        meaning: "Connection string of the place NAME, for a queue that is spread over several databases ([scale.md](scale.md#places)); one \
                  setting for each. NAME has letters, digits, `-` and `_`, and is not `query`.",
    },
    Setting {
        key: "places.query",
        kind: SettingKind::Text(4000),
        default: "",
        meaning: "In place of `places.NAME`: a query on `connection` whose rows are the places, each with its name and how its connection string \
                  differs (`Server=tcp:north;Database=work`). `citus` stands for the nodes of Citus. It is made when a queue is opened.",
    },
    Setting {
        key: "place",
        kind: SettingKind::Text(40),
        default: "",
        meaning: "The one of the places at which to work. Empty: all of them.",
    },
    Setting {
        key: "dialect",
        kind: SettingKind::Choice(&["auto", "sqlserver", "postgres"]),
        default: "auto",
        meaning: "The SQL to speak; auto asks the server which it is.",
    },
    Setting {
        key: "schema",
        kind: SettingKind::Name,
        default: "readpast",
        meaning: "Schema that holds readpast's objects and queues.",
    },
    Setting {
        key: "worker",
        kind: SettingKind::Text(128),
        default: "",
        meaning: "The worker's name, which holds the leases. Empty: a name that is unique to the handle. Set it only \
                  if no other worker uses it.",
    },
    Setting {
        key: "operator",
        kind: SettingKind::Text(128),
        default: "",
        meaning: "The person who acts through this handle, for the record of redrives, purges, cancels and the like in QueueAction. Empty: \
                  the worker's name. The command gives the user and the machine.",
    },
    Setting {
        key: "worker.run_at",
        kind: SettingKind::Text(30),
        default: "",
        meaning: "UTC time that all claims of this handle carry, in queues with `run_time`. Empty: when the handle was opened.",
    },
    Setting {
        key: "worker.types",
        kind: SettingKind::Texts(MAX_KINDS, 60),
        default: "",
        meaning: "Types of the items that this handle claims, like `[\"Email\"]`. Empty: all. The queue must have `claim_by`.",
    },
    Setting {
        key: "worker.steps",
        kind: SettingKind::Texts(MAX_KINDS, 60),
        default: "",
        meaning: "Steps of the items that this handle claims; `\"\"` stands for items without one. Empty: all. The queue must have \
                  `claim_by`.",
    },
    Setting {
        key: "worker.fetchers",
        kind: SettingKind::Number(1, 64),
        default: "2",
        meaning: "Most calls at once that the workers of a queue in one process make together, but one of each; no more than `pool.size`. \
                  A second call runs beside another only when a large group waits, and while both do more.",
    },
    Setting {
        key: "worker.ahead",
        kind: SettingKind::Number(0, 10_000),
        default: "1000",
        meaning: "Most items that a worker claims ahead of its handlers. It claims no more than they will begin in half of `worker.hold_ms`, \
                  and none of a queue with limits.",
    },
    Setting {
        key: "worker.ahead_bytes",
        kind: SettingKind::Number(0, 2_147_483_647),
        default: "67108864",
        meaning: "Most bytes of the items that a worker claims ahead of its handlers, estimated by the size of recent \
                  ones. Items that handlers wait for are claimed whatever their size.",
    },
    Setting {
        key: "worker.hold_ms",
        kind: SettingKind::Number(1, 3_600_000),
        default: "500",
        meaning: "How long a claimed item may wait for a handler; then it is released, without spending an attempt.",
    },
    Setting {
        key: "worker.max_run_ms",
        kind: SettingKind::Number(0, 2_147_483_647),
        default: "0",
        meaning: "How long a handler may work on an item; 0: as long as it likes. After it the handler is cancelled as if the item were lost, and \
                  the lease is not renewed: what the handler returns before the lease runs out still counts.",
    },
    Setting {
        key: "lease.ms",
        kind: SettingKind::Number(10, 86_400_000),
        default: "",
        meaning: "How long a lease lasts unless it is renewed, on the server's clock. Empty: as the queue says.",
    },
    Setting {
        key: "lease.grace_ms",
        kind: SettingKind::Number(0, 3_600_000),
        default: "3000",
        meaning: "How long no connection of a worker may be left at the server before others take it for dead, and its items run again, \
                  whatever their leases say. 0: their leases alone decide, as they do through a pooler that shares sessions.",
    },
    Setting {
        key: "poll.interval_ms",
        kind: SettingKind::Number(10, 3_600_000),
        default: "1000",
        meaning: "Longest pause between two looks at an empty queue. Items enqueued in the same process are seen at once. An item \
                  that a handler releases waits as long at least.",
    },
    Setting {
        key: "poll.doorbell",
        kind: SettingKind::Choice(&["on", "off"]),
        default: "on",
        meaning: "Whether a process that has nothing to do keeps one connection on which others wake it as they enqueue. On \
                  PostgreSQL, through the libpq of psqlODBC, where the connection string names the server.",
    },
    Setting {
        key: "recover.interval_ms",
        kind: SettingKind::Number(10, 3_600_000),
        default: "5000",
        meaning: "How often claims also recover the items of dead workers. One claim of all in the queue does it, so \
                  the cost does not grow with the workers. While any process claims, an item is due again at most \
                  this long after its lease has run out.",
    },
    Setting {
        key: "retention.interval_ms",
        kind: SettingKind::Number(10, 86_400_000),
        default: "60000",
        meaning: "How often workers of a queue with `retention` delete expired items; one worker of all does it.",
    },
    Setting {
        key: "item.max_bytes",
        kind: SettingKind::Number(0, 2_147_483_647),
        default: "16777216",
        meaning: "Most bytes of an item's values (0: any number). Enqueuing refuses a larger item; a claim makes one \
                  that is already in the table Failed, with the reason.",
    },
    Setting {
        key: "pool.size",
        kind: SettingKind::Number(1, 1000),
        default: "8",
        meaning: "Most connections of one queue handle for calls. Leases are renewed on one more, if all are in use.",
    },
    Setting {
        key: "pool.acquire_ms",
        kind: SettingKind::Number(0, 3_600_000),
        default: "30000",
        meaning: "Longest wait for a free connection.",
    },
    Setting {
        key: "pool.idle_ms",
        kind: SettingKind::Number(0, 86_400_000),
        default: "300000",
        meaning: "A connection that is unused for this long is closed.",
    },
    Setting {
        key: "pool.lifetime_ms",
        kind: SettingKind::Number(0, 86_400_000),
        default: "1800000",
        meaning: "A connection is replaced at this age.",
    },
    Setting {
        key: "login.timeout_ms",
        kind: SettingKind::Number(1000, 600_000),
        default: "15000",
        meaning: "Longest wait for one log-in, in whole seconds (rounded up); 5 seconds later it is given up.",
    },
    Setting {
        key: "query.timeout_ms",
        kind: SettingKind::Number(1000, 3_600_000),
        default: "30000",
        meaning: "Longest wait for one answer, in whole seconds (rounded up). When 5 seconds later nothing has come, the connection is \
                  given up.",
    },
    Setting {
        key: "lock.timeout_ms",
        kind: SettingKind::Number(1, 3_600_000),
        default: "5000",
        meaning: "Longest wait of a statement for a lock.",
    },
    Setting {
        key: "retry.budget_ms",
        kind: SettingKind::Number(0, 3_600_000),
        default: "60000",
        meaning: "How long transient errors are retried before the call gives up.",
    },
    Setting {
        key: "open.timeout_ms",
        kind: SettingKind::Number(0, 3_600_000),
        default: "",
        meaning: "How long opening a queue waits for a server that does not answer. Empty: `retry.budget_ms`.",
    },
    Setting {
        key: "retry.first_ms",
        kind: SettingKind::Number(1, 60_000),
        default: "20",
        meaning: "Pause before the first retry. It doubles with each retry, less a random part.",
    },
    Setting {
        key: "retry.longest_ms",
        kind: SettingKind::Number(1, 600_000),
        default: "2000",
        meaning: "Longest pause between two retries.",
    },
    Setting {
        key: "application",
        kind: SettingKind::Text(128),
        default: "readpast",
        meaning: "The connections' name on the server (SQL Server: program_name, PostgreSQL: application_name).",
    },
];

impl Setting {
    /// Whether its value must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, SettingKind::ConnectionString)
    }

    /// The values it takes, in words.
    #[must_use]
    pub fn range(&self) -> String {
        match self.kind {
            SettingKind::ConnectionString => "connection string".to_owned(),
            SettingKind::Choice(words) => words.join(", "),
            SettingKind::Name => "name of 1 to 128 characters".to_owned(),
            SettingKind::Text(most) => format!("text of 0 to {most} characters"),
            SettingKind::Number(least, most) => format!("{least} to {most}"),
            SettingKind::Texts(most, chars) => format!("JSON array of 1 to {most} texts of at most {chars} characters"),
        }
    }

    pub(super) fn check(&self, value: &str) -> Result<()> {
        let fits = match self.kind {
            SettingKind::ConnectionString => return connection::check(value),
            SettingKind::Choice(words) => words.contains(&value),
            SettingKind::Name => return Identifier::new(&format!("the setting {:?}", self.key), value).map(drop),
            SettingKind::Text(most) => value.chars().count() <= most && !value.contains('\0'),
            SettingKind::Texts(most, chars) => {
                value.is_empty()
                    || texts(value).is_some_and(|texts| {
                        (1..=most).contains(&texts.len())
                            && texts.iter().all(|text| text.encode_utf16().count() <= chars && !text.contains('\0'))
                    })
            }
            SettingKind::Number(least, most) => {
                value.bytes().all(|byte| byte.is_ascii_digit())
                    && value.parse().is_ok_and(|number| (least..=most).contains(&number))
            }
        };
        if fits {
            Ok(())
        } else {
            Err(refuse(format!("{:?} cannot be {}; it takes {}", self.key, Excerpt(value), self.range())))
        }
    }
}

/// The texts of a JSON array.
pub(super) fn texts(value: &str) -> Option<Vec<String>> {
    serde_json::from_str(value).ok()
}

/// The setting called `key` and its place in the table.
pub(super) fn find(key: &str) -> Result<(usize, &'static Setting)> {
    let key = if place_in(key).is_some() { PLACES } else { key };
    SETTINGS.iter().enumerate().find(|(_, setting)| setting.key == key).ok_or_else(|| {
        let known: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        let near = did_you_mean(key, known.iter().copied());
        refuse(format!("there is no setting {}{near}; there are {}", Excerpt(key), known.join(", ")))
    })
}

/// The place to which a setting's key gives a connection.
pub(super) fn place_in(key: &str) -> Option<&str> {
    key.strip_prefix("places.").filter(|place| *place != "query")
}

/// The most characters of a name that is generated for a worker. Users' tables often have little room for it.
pub(crate) const WORKER_NAME_CHARS: usize = 60;

/// The name of this machine; empty where it has none.
#[must_use]
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("COMPUTERNAME").ok());
    name.unwrap_or_default().trim().to_owned()
}

/// A name for a worker that no other handle, process or host has: `host:process:random`.
pub(super) fn unique_worker() -> String {
    static HANDLES: AtomicU64 = AtomicU64::new(0);

    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(HANDLES.fetch_add(1, Ordering::Relaxed));
    worker_name(&host_name(), std::process::id(), hasher.finish())
}

fn worker_name(host: &str, process: u32, random: u64) -> String {
    // A host's name may have 64 characters; its beginning is enough for a person, and the random number for the rest.
    let host: String = host.chars().take(32).collect();
    format!("{}:{process}:{random:016x}", if host.is_empty() { "host" } else { &host })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_names_have_at_most_the_documented_length() {
        let longest = worker_name(&"h".repeat(64), u32::MAX, u64::MAX);
        assert_eq!(longest.len(), WORKER_NAME_CHARS);
        assert_eq!(worker_name("", 7, 8), "host:7:0000000000000008");
    }
}
