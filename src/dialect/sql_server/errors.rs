//! Classifies SQL Server's errors: transient ones, those of an item, those that a person must mend.
//!
//! The ODBC driver hides an error's class (severity). For an error without a SQLSTATE of its own it reports HY000 from class 19
//! on and 42000 below, so this file lists classes 17 and 18 (short of a resource; an internal error) by their numbers.

use crate::error::ErrorKind;

/// Server error numbers first, since the driver gives most of them the same SQLSTATE; then SQLSTATEs of the driver's own errors,
/// with native code 0.
pub(in crate::dialect) fn classify(sqlstate: &str, native_code: i32, message: &str) -> ErrorKind {
    match native_code {
        // 50005: the call was rolled back. The same work was enqueued while it was redriven; or a row changed under a claim or
        // settle, which takes a server that ignores the hints.
        50005 | 1205 | 3960 | 41301 | 41302 | 41305 | 41325 | 41839 => ErrorKind::Deadlock,
        // 50013: a rendered script waited for another install for too long, or a worker's session for a recovery.
        1222 | 50013 => ErrorKind::TimedOut,
        18456 | 18452 | 18486 | 18487 | 18488 => ErrorKind::Authentication,
        4060 | 4064 | 911 => ErrorKind::DatabaseMissing,
        // Numbers of the network are also those of ordinary errors (121: a bad INSERT list): only the state distinguishes them.
        64 | 121 | 233 | 10053 | 10054 | 10060 if sqlstate.starts_with("08") => ErrorKind::ConnectionLost,
        // The session was killed.
        596 => ErrorKind::ConnectionLost,
        50015 | 229 | 230 | 262 | 297 | 300 | 15247 | 916 | 2760 => ErrorKind::PermissionDenied,
        // Disk or log full, quota reached.
        1101 | 1105 | 9002 | 40544 | 3908 | 5144 => ErrorKind::Storage,
        50014 | 2812 | 208 | 201 | 207 | 8144 | 8145 => ErrorKind::SchemaMismatch,
        // An object in an installed description is missing, or is no key, or of another type.
        1753 | 1757 | 1767 | 1769 | 1770 | 1776 | 1778 | 2715 => ErrorKind::SchemaMismatch,
        50021 | 547 | 515 | 2601 | 2627 | 8152 | 2628 | 220 | 232 | 241 | 242 | 245 | 8114 | 8115 | 8169 | 13608
        | 13609 => ErrorKind::InvalidItem,
        _ if AWAY.contains(&native_code) => ErrorKind::Unavailable,
        _ if BUSY.contains(&native_code) => ErrorKind::Busy,
        1.. if sqlstate == "HY000" => ErrorKind::Unavailable,
        _ => by_sqlstate(sqlstate, message),
    }
}

/// The server or the database is starting, moving, in recovery, or another replica's turn: not the place to go on. (20 is in
/// other lists of these; it means that the server does not encrypt, which is not transient.)
///
/// 3906: read-only. A pool may have reached a replica that was the primary a moment ago; the next log-in finds the new one.
const AWAY: &[i32] = &[
    615, 617, 921, 922, 926, 927, 941, 952, 976, 978, 982, 983, 988, 1404, 1413, 1421, 1438, 3429, 3906, 3947, 3948,
    3953, 4221, 6005, 9001, 14817, 14906, 17142, 17188, 17197, 18401, 18461, 19413, 19416, 19494, 22430, 22493, 35216,
    35218, 35256, 35293, 40143, 40197, 40540, 40613, 40623, 40671, 40903, 41614, 41619, 41640, 41700, 41701, 42108,
    42109, 45547, 47132, 47137, 47139, 49802,
];

/// Short of memory, workers, locks or quota, busy with the same object, or asking for the statement to be run again. The
/// connection is as good as before: a new one would only be one more log-in.
const BUSY: &[i32] = &[
    539, 601, 669, 701, 802, 1203, 1204, 1215, 1216, 1221, 1232, 1532, 1533, 1534, 1535, 1807, 2021, 2816, 3635, 3935,
    3941, 3950, 3957, 3966, 3980, 4117, 4184, 5280, 5529, 6292, 7951, 8628, 8645, 8651, 8680, 9020, 9515, 9985, 10922,
    10928, 10929, 10930, 10936, 11539, 14355, 14868, 16528, 16554, 16555, 17065, 17066, 17067, 17300, 17803, 17809,
    17889, 18858, 20041, 21503, 22225, 22226, 22335, 22353, 22355, 22358, 22427, 22491, 22498, 22754, 22758, 22759,
    22760, 22984, 25003, 25738, 25740, 30080, 30085, 33123, 37202, 37327, 39025, 39108, 39110, 39151, 39152, 40106,
    40189, 40501, 40549, 40550, 40551, 40552, 40553, 40642, 40648, 40675, 40890, 40918, 40938, 41339, 41383, 41823,
    41840, 42029, 45153, 45156, 45157, 45161, 45179, 45182, 45319, 49510, 49918, 49919, 49920, 49977, 49983,
];

fn by_sqlstate(sqlstate: &str, message: &str) -> ErrorKind {
    match sqlstate {
        "IM002" | "IM003" | "IM004" | "IM005" | "01000" if message.contains("river") => ErrorKind::DriverMissing,
        "28000" => ErrorKind::Authentication,
        "HYT00" | "HYT01" if message.to_ascii_lowercase().contains("login timeout") => ErrorKind::Unreachable,
        "HYT00" => ErrorKind::TimedOut,
        "HYT01" | "08S01" | "08003" | "08007" | "IMC06" => ErrorKind::ConnectionLost,
        "08001" if message.contains("SSL") || message.contains("certificate") || message.contains("ncryption") => {
            ErrorKind::Encryption
        }
        "08001" | "08004" => ErrorKind::Unreachable,
        "40001" => ErrorKind::Deadlock,
        // The driver lacks the memory.
        "HY001" => ErrorKind::Exhausted,
        "42S02" | "42S22" => ErrorKind::SchemaMismatch,
        _ => ErrorKind::Database,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that EF Core retries: `section`s of the file.
    fn published(section: &str) -> Vec<i32> {
        let text = include_str!("../../../tests/fixtures/transient_errors.txt");
        let (_, rest) = text.split_once(&format!("[{section}]\n")).unwrap();
        let part = rest.split("\n[").next().unwrap();
        part.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn server_numbers_go_before_sqlstates() {
        assert_eq!(classify("40001", 1205, ""), ErrorKind::Deadlock);
        assert_eq!(classify("HY000", 40613, ""), ErrorKind::Unavailable);
        assert_eq!(classify("28000", 18456, ""), ErrorKind::Authentication);
        assert_eq!(classify("08S01", 0, "Communication link failure"), ErrorKind::ConnectionLost);
        assert_eq!(classify("08001", 20, "Encryption not supported on SQL Server."), ErrorKind::Encryption);
        assert_eq!(classify("HYT00", 0, "Login timeout expired"), ErrorKind::Unreachable);
        assert_eq!(classify("HYT00", 0, "Query timeout expired"), ErrorKind::TimedOut);
        for sqlstate in ["HYT00", "42000"] {
            assert_eq!(classify(sqlstate, 1222, ""), ErrorKind::TimedOut);
        }
        for number in [1753, 1757, 1767, 1769, 1770, 1776, 1778, 2715] {
            assert_eq!(
                classify("42000", number, ""),
                ErrorKind::SchemaMismatch,
                "what a description names is not there"
            );
        }
        assert_eq!(classify("42000", 50000, ""), ErrorKind::Database);
        assert_eq!(classify("HY000", 0, ""), ErrorKind::Database, "the driver's own");
    }

    #[test]
    fn errors_that_other_libraries_retry_are_transient() {
        for (section, states) in [("server", &["42000", "HY000"][..]), ("network", &["08S01", "08001"])] {
            let numbers = published(section);
            assert!(numbers.len() > 8, "{section}");
            for (number, state) in numbers.iter().flat_map(|number| states.iter().map(move |state| (*number, *state))) {
                let kind = classify(state, number, "");
                assert!(kind.is_transient(), "{number} {state}: {kind:?}");
            }
        }
        // Refused log-ins are transient only after the loss of a connection, which the pool decides.
        for number in published("log-in") {
            assert_eq!(classify("42000", number, ""), ErrorKind::DatabaseMissing);
        }
        for number in published("not here") {
            assert!(!classify("08001", number, "Encryption not supported").is_transient(), "{number}");
        }
    }

    #[test]
    fn numbers_of_the_network_are_no_losses_without_its_state() {
        for number in [64, 121, 233, 10053, 10054, 10060] {
            assert_eq!(classify("42000", number, ""), ErrorKind::Database);
            assert_eq!(classify("08S01", number, ""), ErrorKind::ConnectionLost);
        }
    }

    #[test]
    fn no_number_stands_twice() {
        let mut all: Vec<_> = AWAY.iter().chain(BUSY).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for list in [AWAY, BUSY] {
            assert!(list.is_sorted());
            for number in list {
                assert!(matches!(classify("42000", *number, ""), ErrorKind::Unavailable | ErrorKind::Busy), "{number}");
            }
        }
    }

    #[test]
    fn a_read_only_replica_is_left_and_a_busy_server_is_not() {
        assert!(classify("25000", 3906, "").breaks_connection());
        for number in [10928, 40501, 8645, 49918] {
            assert!(!classify("42000", number, "").breaks_connection(), "{number}");
        }
    }

    #[test]
    fn an_unknown_error_of_class_19_and_up_passes() {
        assert_eq!(classify("HY000", 777_777, ""), ErrorKind::Unavailable);
        assert_eq!(classify("42000", 777_777, ""), ErrorKind::Database);
    }
}
