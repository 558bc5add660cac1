//! The columns of an item's life cycle, by the names that readpast gives them in the worker view.

/// A column of the life cycle, by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Status,
    Step,
    Attempt,
    Response,
    Error,
    Started,
    Duration,
    Due,
    Token,
    Owner,
    LeaseUntil,
    Kind,
    Enqueued,
}

impl Life {
    /// All of them. Those of a worker view that no table lacks come first, in the view's order.
    pub(crate) const ALL: [Self; 13] = [
        Self::Status,
        Self::Step,
        Self::Attempt,
        Self::Response,
        Self::Error,
        Self::Started,
        Self::Duration,
        Self::Due,
        Self::Token,
        Self::Owner,
        Self::LeaseUntil,
        Self::Kind,
        Self::Enqueued,
    ];

    /// Those that the view of every table has.
    pub(crate) fn always() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|life| !matches!(life, Self::Kind | Self::Enqueued))
    }

    /// Its name in the templates; in readpast's own tables on SQL Server; and in the views of described ones, whose own columns may
    /// have any name. PostgreSQL's names are the same in lower case, with underscores.
    const fn names(self) -> [&'static str; 3] {
        match self {
            Self::Status => ["status", "Status", "ItemStatus"],
            Self::Step => ["step", "Step", "ItemStep"],
            Self::Attempt => ["attempt", "AttemptNum", "ItemAttempt"],
            Self::Response => ["response", "Response", "ItemResponse"],
            Self::Error => ["error", "Error", "ItemError"],
            Self::Started => ["started_at", "StartedAt", "ItemStartedAt"],
            Self::Duration => ["duration", "Duration", "ItemDuration"],
            Self::Due => ["due_at", "ScheduledFor", "ItemDueAt"],
            Self::Token => ["token", "UpdatedAt", "ItemToken"],
            Self::Owner => ["owner", "LeaseOwner", "ItemOwner"],
            Self::LeaseUntil => ["lease_until", "LeaseUntil", "ItemLeaseUntil"],
            Self::Kind => ["type", "Type", "ItemType"],
            Self::Enqueued => ["enqueued_at", "EnqueuedAt", "ItemEnqueuedAt"],
        }
    }

    /// Its name in the templates.
    pub(crate) const fn word(self) -> &'static str {
        self.names()[0]
    }

    /// Its name on SQL Server, in an own table or in the view of a described one.
    pub(crate) const fn name(self, own: bool) -> &'static str {
        self.names()[if own { 1 } else { 2 }]
    }

    /// Whether it is a time.
    pub(crate) const fn is_time(self) -> bool {
        matches!(self, Self::Started | Self::Due | Self::Token | Self::LeaseUntil | Self::Enqueued)
    }

    /// Whether either server calls it `name`, in an own table or in the view of a described one.
    pub(crate) fn is_called(self, name: &str, own: bool) -> bool {
        let letters = name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase());
        letters.eq(self.name(own).bytes().map(|byte| byte.to_ascii_lowercase()))
    }

    /// The role of the column that `name` means in any table on any server.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|life| life.is_called(name, true) || life.is_called(name, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_known_by_the_names_of_both_servers_and_kinds_of_tables() {
        for name in ["ScheduledFor", "scheduled_for", "SCHEDULEDFOR", "ItemDueAt", "item_due_at"] {
            assert_eq!(Life::of_name(name), Some(Life::Due), "{name}");
        }
        for (life, name) in Life::ALL.into_iter().flat_map(|life| [(life, life.name(true)), (life, life.name(false))]) {
            assert_eq!(Life::of_name(name), Some(life), "{name}");
        }
        for name in ["", "_", "due", "Scheduled", "ScheduledFor2", "Scheduled For"] {
            assert_eq!(Life::of_name(name), None, "{name}");
        }
    }
}
