//! The tables in which the tests of limits have their items: one of readpast's own, and those of others.

use serde_json::{Value, json};
use support::both::Database;

/// How the table shows what is in work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Table {
    /// readpast's own.
    Own,
    /// A status and the time of the claim; the rest is kept beside it.
    Locked,
    /// As what is completed: what of it is in work is known beside it only.
    Taken,
    /// With columns for all that readpast keeps.
    Whole,
}

/// Each table on each server.
pub fn everywhere() -> impl Iterator<Item = (Database, Table)> {
    let tables = [Table::Own, Table::Locked, Table::Taken, Table::Whole];
    tables.into_iter().flat_map(|table| Database::each().into_iter().map(move |database| (database, table)))
}

impl Table {
    /// The description of a queue in it.
    pub fn described(self, mut spec: Value) -> Value {
        let mut table =
            json!({"name": "Jobs", "create": true, "key": [{"name": "Id", "type": "integer", "source": "table"}]});
        let more = match self {
            Self::Own => return spec,
            Self::Locked => json!({
                "lifecycle": {"started": "LockedTime", "owner": "LockedBy"},
                "states": {
                    "Pending": {"Status": 1, "LockedTime": {"is": "null"}}, "Processing": {"Status": 1, "LockedTime": {"is": "set"}},
                    "Completed": {"Status": 2}, "Failed": {"Status": 3}
                }
            }),
            Self::Taken => json!({
                "lifecycle": {"enqueued": "Created", "due": "NotBefore"},
                "states": {"Pending": {"Taken": false}, "Processing": {"Taken": true}, "Completed": {"Taken": true}}
            }),
            Self::Whole => {
                let states = [
                    "Pending",
                    "Processing",
                    "Completed",
                    "Error",
                    "Failed",
                    "Cancelled",
                    "Paused",
                    "Terminated",
                    "PartiallyCompleted",
                ];
                json!({
                    "lifecycle": {
                        "type": "Sort", "enqueued": "Born", "due": "Due", "started": "Began", "finished": "Ended", "attempts": "Tries",
                        "owner": "Held", "lease_until": "HeldUntil", "step": "Step", "response": "Response", "error": "Error",
                        "token": "Changed"
                    },
                    "status": {"column": "State", "values": states.map(|state| (state, state)).into_iter().collect::<std::collections::BTreeMap<_, _>>()}
                })
            }
        };
        table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec["table"] = table;
        spec
    }

    /// Whether it has columns for the type and the step of an item.
    pub fn shows_kinds(self) -> bool {
        matches!(self, Self::Own | Self::Whole)
    }

    /// A query with a row for each key of which more than `most` are in work.
    pub fn more_in_work(self, database: &Database, by: Option<&str>, most: usize) -> String {
        let by = by.map(|by| self.column(database, by));
        let (given, grouped) =
            by.map_or_else(Default::default, |by| (format!("AND {by} IS NOT NULL"), format!("GROUP BY {by}")));
        format!(
            "SELECT COUNT(*) FROM {} WHERE {} {given} {grouped} HAVING COUNT(*) > {most}",
            self.place(database),
            self.in_work(database)
        )
    }

    /// A query for the number of those that are not done.
    pub fn left(self, database: &Database) -> String {
        let done = match self {
            Self::Own => "Status = 'Completed'",
            Self::Locked => "Status = 2",
            Self::Taken => "Taken = CAST(1 AS bit)",
            Self::Whole => "State = 'Completed'",
        };
        let done = database.pick(done, if self == Self::Taken { "Taken" } else { done });
        let held = if matches!(self, Self::Locked | Self::Taken) {
            format!(" OR {}", self.in_work(database))
        } else {
            String::new()
        };
        format!("SELECT COUNT(*) FROM {} WHERE NOT ({done}){held}", self.place(database))
    }

    fn in_work(self, database: &Database) -> &'static str {
        match self {
            Self::Own => "Status = 'Processing'",
            // An item that waits for another attempt stands in the table as taken.
            Self::Locked | Self::Taken => database.pick(
                "Id IN (SELECT s.Id FROM [readpast].Job_Lease AS s WHERE s.Status = 'Processing')",
                "Id IN (SELECT s.key_1 FROM readpast.job_lease AS s WHERE s.status = 'Processing')",
            ),
            Self::Whole => "State = 'Processing'",
        }
    }

    fn place(self, database: &Database) -> &'static str {
        match self {
            Self::Own => database.pick("[readpast].Job", "readpast.job"),
            _ => database.pick("dbo.Jobs", "public.Jobs"),
        }
    }

    fn column(self, database: &Database, name: &str) -> String {
        if database.is_sql_server() {
            format!("[{name}]")
        } else if self == Self::Own {
            format!("\"{name}\"")
        } else {
            name.to_owned()
        }
    }
}
