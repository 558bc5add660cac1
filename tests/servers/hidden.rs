//! Items of a type that the login may not see, on SQL Server. `capability` has the same with logins, `roles::`; servers like SQL Server
//! that know no ownership chain let no login call, so here the installer loses a type.

use readpast::item::{Answer, Lease, NewItem};
use readpast::{Queue, QueueSpec, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

#[test]
fn a_renewal_finds_no_item_of_a_hidden_type() {
    let adopted = json!({"schema": "readpast", "name": "Jobs", "create": true, "key": ["Id"], "lifecycle": {"type": "Kind"},
        "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3}}});
    for table in [json!(null), adopted] {
        for database in Database::each().into_iter().filter(Database::is_sql_server) {
            let mut spec = json!({"queue": "Job", "types": ["Email", "Sms"], "columns": [],
                "roles": {"worker": "worker", "own_types_only": true}});
            if !table.is_null() {
                spec["table"] = table.clone();
            }
            install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
            let queue = Queue::open(&database.config(&[("worker", "w")]), "Job").unwrap();
            let of = |kind: &str| NewItem { kind: Some(kind.to_owned()), ..NewItem::default() };
            queue.enqueue(&[of("Email"), of("Sms")], None).unwrap();
            // One after the other: the Email, then the Sms.
            let taken = [(); 2].map(|()| {
                let batch = queue.claim(1, Duration::ZERO).unwrap();
                let item = batch.get(0).unwrap();
                (item.key().to_owned(), item.attempt())
            });
            let renewed = || {
                let leases: Vec<_> = taken.iter().map(|(key, attempt)| Lease { key, attempt: *attempt }).collect();
                queue.renew(&leases).unwrap().into_iter().map(|outcome| outcome.answer).collect::<Vec<_>>()
            };
            assert_eq!(renewed(), [Answer::Ok, Answer::Ok]);
            database.run("DELETE FROM [readpast].[QueueTypeAccess]");
            database.run("INSERT INTO [readpast].[QueueTypeAccess] VALUES ('Job', 'Email', USER_NAME())");
            assert_eq!(renewed(), [Answer::Ok, Answer::NotFound]);
            database.run("DELETE FROM [readpast].[QueueTypeAccess]");
            assert_eq!(renewed(), [Answer::NotFound, Answer::NotFound]);
        }
    }
}
