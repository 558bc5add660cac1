//! The servers' names of waits, as the limits that they are signs of.

use super::Limit;
use crate::dialect::Dialect;

/// The limit that a wait of this name is a sign of.
pub(super) fn of(dialect: Dialect, name: &str) -> Limit {
    match dialect {
        Dialect::Postgres => postgres(&name.to_ascii_lowercase()),
        Dialect::SqlServer => sql_server(name),
    }
}

/// Its versions differ in how they write a name: `WALSync`, `WalSync`.
fn postgres(name: &str) -> Limit {
    let (kind, event) = name.split_once('/').unwrap_or((name, ""));
    match (kind, event) {
        ("running", _) => Limit::ServerWork,
        ("ipc", "syncrep") => Limit::Replica,
        ("io" | "lwlock", event) if event.starts_with("wal") => Limit::LogFlush,
        ("timeout", "commitdelay") => Limit::LogFlush,
        ("lock" | "bufferpin", _) | ("lwlock", "buffercontent" | "buffer_content" | "lockmanager" | "lock_manager") => {
            Limit::Head
        }
        _ => Limit::OtherWaits,
    }
}

fn sql_server(name: &str) -> Limit {
    match name {
        "WRITELOG" | "LOGBUFFER" | "LOG_RATE_GOVERNOR" | "LOGMGR_FLUSH" | "POOL_LOG_RATE_GOVERNOR" => Limit::LogFlush,
        "HADR_SYNC_COMMIT" => Limit::Replica,
        "SOS_SCHEDULER_YIELD" | "THREADPOOL" => Limit::ServerWork,
        _ if ["PAGELATCH_", "LATCH_", "LCK_"].iter().any(|begin| name.starts_with(begin)) => Limit::Head,
        _ => Limit::OtherWaits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_signs_of_limits() {
        use Dialect::{Postgres, SqlServer};
        for (dialect, limit, names) in [
            (Postgres, Limit::LogFlush, &["IO/WALSync", "IO/WalSync", "IO/WALWrite", "LWLock/WALWrite"][..]),
            (Postgres, Limit::Replica, &["IPC/SyncRep"]),
            (Postgres, Limit::Head, &["Lock/transactionid", "LWLock/BufferContent", "LWLock/LockManager"]),
            (Postgres, Limit::ServerWork, &["running"]),
            (Postgres, Limit::OtherWaits, &["IO/DataFileRead", "Activity/WalWriterMain", "LWLock/ProcArray", "odd"]),
            (SqlServer, Limit::LogFlush, &["WRITELOG", "LOG_RATE_GOVERNOR"]),
            (SqlServer, Limit::Replica, &["HADR_SYNC_COMMIT"]),
            (SqlServer, Limit::Head, &["PAGELATCH_EX", "PAGELATCH_SH", "LCK_M_U", "LATCH_EX"]),
            (SqlServer, Limit::ServerWork, &["SOS_SCHEDULER_YIELD", "THREADPOOL"]),
            (SqlServer, Limit::OtherWaits, &["PAGEIOLATCH_SH", "ASYNC_NETWORK_IO"]),
        ] {
            for name in names {
                assert_eq!(of(dialect, name), limit, "{name}");
            }
        }
    }
}
