//! Schemas that tests have for themselves in the database of a Citus: READPAST_TEST_CITUS, which names its coordinator.

use crate::limit::patient;
use readpast::for_tests::Session;

/// Makes a schema that Citus shards. One of that name that is there is somebody's, and stays.
pub fn shard(server: &str, schema: &str) {
    let mut session = Session::open(&patient(server)).unwrap();
    run(&mut session, &format!("CREATE SCHEMA {schema}"));
    run(&mut session, &format!("SELECT citus_schema_distribute('{schema}')"));
}

/// Drops it. What keeps it from that fails no test.
pub fn drop(server: &str, schema: &str) {
    let dropped = Session::open(&patient(server))
        .and_then(|mut session| session.execute(&format!("DROP SCHEMA {schema} CASCADE"), &[]));
    if let Err(error) = dropped {
        eprintln!("the schema {schema} is left: {error}");
    }
}

fn run(session: &mut Session, statement: &str) {
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
}
