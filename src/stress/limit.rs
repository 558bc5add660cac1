//! The causes on which the workers of a run spend their time.

/// A cause on which workers spend their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Handlers are at work.
    Handlers,
    /// Workers find nothing to claim.
    NothingDue,
    /// Calls and answers are on their way between the client and the server.
    RoundTrip,
    /// Commits wait until the server's log is on its disk.
    LogFlush,
    /// Commits wait for a synchronous replica.
    Replica,
    /// Sessions wait for each other: for latches of the pages that all claims read, and for locks.
    Head,
    /// The server waits for something else, such as pages of a table.
    OtherWaits,
    /// The server executes statements.
    ServerWork,
    /// Calls take time that no figure explains: the driver, the transfer, a processor that was not free.
    Unexplained,
    /// The client does its own work between two calls.
    Client,
    /// Processors are busy all the time: of the server, or of this machine.
    Processors,
    /// Other programs keep this machine's processors busy.
    OtherPrograms,
    /// The run was too short to say.
    Unknown,
}

impl Limit {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handlers => "handlers",
            Self::NothingDue => "nothing_due",
            Self::RoundTrip => "round_trip",
            Self::LogFlush => "log_flush",
            Self::Replica => "replica",
            Self::Head => "head",
            Self::OtherWaits => "other_waits",
            Self::ServerWork => "server_work",
            Self::Unexplained => "unexplained",
            Self::Client => "client",
            Self::Processors => "processors",
            Self::OtherPrograms => "other_programs",
            Self::Unknown => "unknown",
        }
    }

    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Handlers => "handlers",
            Self::NothingDue => "nothing due",
            Self::RoundTrip => "round trips",
            Self::LogFlush => "log flush",
            Self::Replica => "replica",
            Self::Head => "head and locks",
            Self::OtherWaits => "other waits",
            Self::ServerWork => "server's work",
            Self::Unexplained => "rest of calls",
            Self::Client => "between calls",
            Self::Processors => "processors",
            Self::OtherPrograms => "other programs",
            Self::Unknown => "unknown",
        }
    }
}
