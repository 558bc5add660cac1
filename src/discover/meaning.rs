//! The meaning of names: columns that play a role in an item's life, words that are states.

use super::table::Column;
use crate::item::ItemState;

/// A role in an item's life, which a column's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Due,
    Enqueued,
    Started,
    Finished,
    Attempts,
    Owner,
    LeaseUntil,
    Error,
    Response,
}

impl Role {
    pub(super) const ALL: [Self; 9] = [
        Self::Due,
        Self::Enqueued,
        Self::Started,
        Self::Finished,
        Self::Attempts,
        Self::Owner,
        Self::LeaseUntil,
        Self::Error,
        Self::Response,
    ];

    /// Its name in a description.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Enqueued => "enqueued",
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Attempts => "attempts",
            Self::Owner => "owner",
            Self::LeaseUntil => "lease_until",
            Self::Error => "error",
            Self::Response => "response",
        }
    }

    /// The same for a person.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Due => "the time from which a row may be taken",
            Self::Enqueued => "the time when a row came",
            Self::Started => "the time when a row was taken",
            Self::Finished => "the time when a row was done",
            Self::Attempts => "a count of attempts",
            Self::Owner => "the name of the worker that has a row",
            Self::LeaseUntil => "the end of a claim",
            Self::Error => "the last error",
            Self::Response => "a result",
        }
    }

    /// How much it speaks for a queue.
    pub(super) fn points(self) -> u32 {
        match self {
            Self::Due | Self::Started | Self::Attempts | Self::Owner | Self::LeaseUntil => 1,
            Self::Enqueued | Self::Finished | Self::Error | Self::Response => 0,
        }
    }

    /// Names without underscores, in lower case.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Due => &[
                "runat",
                "runafter",
                "scheduledat",
                "scheduledfor",
                "scheduledstartdate",
                "scheduledtime",
                "availableat",
                "visibleat",
                "visibleafter",
                "vt",
                "nextretryat",
                "nextattemptat",
                "nextretry",
                "retryat",
                "deliverat",
                "due",
                "dueat",
                "duedate",
                "processafter",
                "executeat",
                "executionat",
                "startafter",
                "notbefore",
                "executiontime",
            ],
            Self::Enqueued => &[
                "createdat",
                "created",
                "createdon",
                "createdtime",
                "enqueuedat",
                "insertedat",
                "queuedat",
                "requestedat",
                "requestedtime",
                "added",
                "addedat",
                "createddate",
                "receivedat",
            ],
            Self::Started => &[
                "startedat",
                "startedon",
                "started",
                "startdate",
                "lockedat",
                "lockedtime",
                "locktime",
                "processingstartedat",
                "attemptedat",
                "pickedat",
                "claimedat",
                "fetchedat",
                "takenat",
                "reservedat",
                "dequeuedat",
                "lastattemptat",
            ],
            Self::Finished => &[
                "finishedat",
                "completedat",
                "completedon",
                "completed",
                "processedat",
                "processedon",
                "doneat",
                "endedat",
                "enddate",
                "completiontime",
                "finalizedat",
                "sentat",
                "publishedat",
                "handledat",
            ],
            Self::Attempts => &[
                "attempts",
                "attempt",
                "attemptcount",
                "attemptnum",
                "numattempts",
                "retries",
                "retrycount",
                "retry",
                "tries",
                "deliverycount",
                "failurecount",
                "readct",
            ],
            Self::Owner => &[
                "lockedby",
                "lockowner",
                "owner",
                "ownerid",
                "worker",
                "workerid",
                "workername",
                "claimedby",
                "pickedby",
                "processedby",
                "appserver",
                "servername",
                "leaseowner",
                "takenby",
                "processid",
            ],
            Self::LeaseUntil => &[
                "leaseuntil",
                "leaseexpiresat",
                "leaseexpires",
                "lockeduntil",
                "lockexpiresat",
                "lockexpires",
                "lockuntil",
                "invisibleuntil",
                "visibilitytimeout",
            ],
            Self::Error => &["error", "errors", "lasterror", "errormessage", "exception", "exceptioninfo", "traceback"],
            Self::Response => &["result", "response", "output"],
        }
    }

    /// Whether a column of this type can play it in a description.
    fn fits(self, column: &Column) -> bool {
        match self {
            Self::Attempts => column.is_whole(),
            Self::Owner => column.is_text(),
            Self::Error | Self::Response => {
                column.is_text() || ["json", "jsonb", "_text", "_jsonb"].contains(&column.kind.as_str())
            }
            _ => column.is_time(),
        }
    }
}

fn bare(name: &str) -> String {
    name.to_lowercase().replace(['_', ' '], "")
}

/// The role that the name and the type of a column say.
pub(super) fn role(column: &Column) -> Option<Role> {
    let name = bare(&column.name);
    let is = |role: &Role| role.names().contains(&name.as_str()) && role.fits(column);
    Role::ALL.into_iter().find(is).filter(|_| !column.computed)
}

/// Whether a column shows the state of a row.
pub(super) fn shows_state(column: &Column) -> bool {
    let name = bare(&column.name);
    let named = ["status", "state", "statename", "statusid", "jobstate", "jobstatus", "statusname"]
        .contains(&name.as_str())
        || name.ends_with("status");
    let flags = [
        "processed",
        "isprocessed",
        "inprocess",
        "inprogress",
        "sent",
        "issent",
        "done",
        "isdone",
        "handled",
        "ishandled",
        "published",
        "ispublished",
        "completed",
        "iscompleted",
        "dispatched",
    ];
    let few = column.is_text() || column.is_whole() || !column.values.is_empty();
    !column.computed
        && column.key_place == 0
        && ((named && few) || (flags.contains(&name.as_str()) && column.is_flag()))
}

/// The state that a word means.
pub(super) fn state(word: &str) -> Option<ItemState> {
    let word = bare(word.trim()).replace('-', "");
    let states: [(ItemState, &[&str]); 6] = [
        (
            ItemState::Pending,
            &[
                "pending",
                "new",
                "queued",
                "ready",
                "waiting",
                "available",
                "scheduled",
                "enqueued",
                "todo",
                "created",
                "open",
                "unprocessed",
                "incoming",
                "init",
                "initial",
                "notstarted",
                "retryable",
                "retry",
                "inbox",
                "notprocessed",
            ],
        ),
        (
            ItemState::Processing,
            &[
                "processing",
                "running",
                "doing",
                "active",
                "executing",
                "inprogress",
                "inprocess",
                "started",
                "locked",
                "working",
                "busy",
                "taken",
            ],
        ),
        (
            ItemState::Completed,
            &[
                "completed",
                "complete",
                "done",
                "succeeded",
                "successful",
                "success",
                "finished",
                "processed",
                "sent",
                "handled",
                "published",
                "ok",
            ],
        ),
        (
            ItemState::Failed,
            &["failed", "fail", "error", "errored", "discarded", "dead", "failure", "poison", "abandoned"],
        ),
        (ItemState::Cancelled, &["cancelled", "canceled", "cancel", "aborted", "deleted"]),
        (ItemState::Paused, &["paused", "onhold", "suspended"]),
    ];
    states.into_iter().find(|(_, words)| words.contains(&word.as_str())).map(|(state, _)| state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> Column {
        Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            length: -1,
            nullable: true,
            numbered: false,
            default: None,
            key_place: 0,
            values: Vec::new(),
            computed: false,
        }
    }

    #[test]
    fn names_are_read_in_any_style() {
        for (name, kind, expected) in [
            ("run_at", "timestamptz", Some(Role::Due)),
            ("ScheduledFor", "datetime2", Some(Role::Due)),
            ("LockedBy", "nvarchar", Some(Role::Owner)),
            // No role takes this type.
            ("locked_by", "int8", None),
            ("available_at", "int4", None),
            ("Attempts", "int", Some(Role::Attempts)),
            ("customer", "text", None),
        ] {
            assert_eq!(role(&column(name, kind)), expected, "{name} {kind}");
        }
        assert!(shows_state(&column("OrderStatus", "nvarchar")) && shows_state(&column("is_processed", "bool")));
        assert!(!shows_state(&column("statuspage", "text")) && !shows_state(&column("status", "timestamptz")));
        assert_eq!(state("In-Progress"), Some(ItemState::Processing));
        assert_eq!(state("Berlin"), None);
    }
}
