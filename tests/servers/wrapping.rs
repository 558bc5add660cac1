//! The numbers in keys begin anew after 10,000: what a caller enqueues one after the other stays in its order within a group.

use readpast::{QueueSpec, install};
use support::both::Database;

const SPEC: &str = r#"{"queue": "Job", "columns": [{"name": "Customer", "type": "integer"}, {"name": "No", "type": "integer"}],
    "order": {"group": "Customer"}}"#;

/// The last of them, so that the next call has the last number of a round, and the one after it the first of the next.
fn before_the_turn(scratch: &Database) {
    scratch.run(scratch.pick(
        "ALTER SEQUENCE [readpast].[Job_Seq] RESTART WITH 9999",
        "SELECT setval('readpast.job_seq', 9999, FALSE)",
    ));
}

#[test]
fn keys_ascend_where_their_numbers_begin_anew() {
    for scratch in Database::each() {
        install(&scratch.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
        for way in ["one", "set"] {
            for round in 0..10 {
                before_the_turn(&scratch);
                // In one batch, so that both calls are in one tick in nearly all rounds.
                let call = |no: i32| {
                    let items = format!(r#"[{{"columns":{{"Customer":{round},"No":{no}}}}}]"#);
                    match (scratch.is_sql_server(), way) {
                        (true, "one") => format!("EXEC [readpast].Add_Job_trx @Customer = {round}, @No = {no};"),
                        (true, _) => {
                            format!("EXEC [readpast].Add_Job_Set_trx @Operation = NULL, @Items = N'{items}';")
                        }
                        (false, "one") => {
                            format!(r#"PERFORM readpast.add_job_trx("Customer_" => {round}, "No_" => {no});"#)
                        }
                        (false, _) => format!("PERFORM readpast.add_job_set_trx(NULL, '{items}');"),
                    }
                };
                let calls = (0..4).map(call).collect::<Vec<_>>().join("\n");
                let batch = if scratch.is_sql_server() { calls } else { format!("DO $do$ BEGIN {calls} END $do$") };
                scratch.run(&batch);
                let order = scratch.look(scratch.pick(
                    "SELECT STRING_AGG(CAST([No] AS varchar(9)), ',') WITHIN GROUP (ORDER BY [EnqueuedAt]) FROM [readpast].Job",
                    r#"SELECT string_agg("No"::text, ',' ORDER BY enqueued_at) FROM readpast.job"#,
                ));
                assert_eq!(order, "0,1,2,3", "{way}, round {round}");
                scratch.run(scratch.pick("DELETE FROM [readpast].Job", "DELETE FROM readpast.job"));
            }
        }
    }
}
