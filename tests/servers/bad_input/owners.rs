//! Somebody has been in the schema before, and left what would run with the rights of who installs.

use super::assert_says;
use readpast::error::ErrorKind;
use readpast::{Dialect, description::QueueSpec, ident::Identifier, install::install};
use support::scratch::{Scratch, changed, config};

fn spec() -> QueueSpec {
    QueueSpec::from_json(
        r#"{"queue": "Job", "order": {"priority": {"column": "Weight"}},
        "columns": [{"name": "Weight", "type": "integer", "nullable": false}]}"#,
    )
    .unwrap()
}

/// A trigger function that gives its owner a right, if somebody runs it who can.
fn trap(scratch: &Scratch, mallory: &str) {
    scratch.run(&format!(
        "CREATE FUNCTION public.trap() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN ALTER ROLE {mallory} CREATEDB; RETURN NEW; END $$"
    ));
    scratch.run(&format!("ALTER FUNCTION public.trap() OWNER TO {mallory}"));
}

fn assert_untouched(scratch: &Scratch, mallory: &str) {
    assert_eq!(scratch.look(&format!("SELECT rolcreatedb::text FROM pg_roles WHERE rolname = '{mallory}'")), "false");
}

/// The script, as psql runs it.
fn run_rendered(scratch: &Scratch) -> Result<(), readpast::error::Error> {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let script = readpast::render::script(Dialect::Postgres, &schema, Some(&spec())).unwrap();
    scratch.session().execute(&script, &[]).map(drop)
}

#[test]
fn a_schema_that_is_somebody_elses() {
    let mut scratch = Scratch::empty();
    let mallory = scratch.role();
    trap(&scratch, &mallory);
    for statement in [
        "CREATE SCHEMA readpast",
        "CREATE TABLE readpast.queue_schema_version (version integer PRIMARY KEY, applied_at timestamptz, library text)",
        "CREATE TRIGGER trap BEFORE INSERT ON readpast.queue_schema_version FOR EACH ROW EXECUTE FUNCTION public.trap()",
    ] {
        scratch.run(statement);
    }
    scratch.run(&format!("ALTER TABLE readpast.queue_schema_version OWNER TO {mallory}"));
    scratch.run(&format!("ALTER SCHEMA readpast OWNER TO {mallory}"));
    let words = ["nothing was installed", "schema \"readpast\"", &mallory, "change its owner"];
    assert_says(install(&scratch.config(&[]), Some(&spec())), ErrorKind::PermissionDenied, &words);
    let error = run_rendered(&scratch).unwrap_err();
    assert!(error.message().contains(&format!("schema readpast belongs to {mallory}")), "{error}");
    assert_untouched(&scratch, &mallory);

    // The user who made it may go on.
    scratch.run(&format!("GRANT CREATE ON DATABASE {} TO {mallory}", scratch.name));
    let connection = changed(&scratch.connection(), &[("Uid", &mallory), ("Pwd", "p")]);
    scratch.run("DROP TABLE readpast.queue_schema_version");
    install(&config(&connection, &[]), Some(&spec())).unwrap();
    // Objects that a plain role has installed are no more to be trusted by a superuser, who counts as a member of every role.
    assert_says(install(&scratch.config(&[]), None), ErrorKind::PermissionDenied, &words);
    scratch.run(&format!("GRANT {mallory} TO CURRENT_USER"));
    install(&scratch.config(&[]), None).unwrap();
    scratch.run("DROP SCHEMA readpast CASCADE");
    scratch.run(&format!("DROP OWNED BY {mallory}"));
}

/// In a schema of one's own in which others may make things, each kind of thing under one of our names.
#[test]
fn objects_that_are_somebody_elses() {
    let mut scratch = Scratch::empty();
    let mallory = scratch.role();
    scratch.run("CREATE SCHEMA readpast");
    scratch.run("CREATE TABLE readpast.no_name_of_ours (x integer)");
    scratch.run(&format!("ALTER TABLE readpast.no_name_of_ours OWNER TO {mallory}"));
    for (kind, name, statement) in [
        ("relation", "app_settings", "CREATE TABLE readpast.app_settings (param text PRIMARY KEY, val_int integer)"),
        ("relation", "job", "CREATE VIEW readpast.job AS SELECT 1 AS one"),
        ("relation", "job_seq", "CREATE SEQUENCE readpast.job_seq"),
        ("relation", "worker_job_v", "CREATE MATERIALIZED VIEW readpast.worker_job_v AS SELECT 1 AS one"),
        ("type", "queue_state", "CREATE DOMAIN readpast.queue_state AS text"),
        (
            "function",
            "queue_is_finished_fn",
            "CREATE FUNCTION readpast.queue_is_finished_fn(x varchar) RETURNS boolean LANGUAGE sql AS 'SELECT TRUE'",
        ),
        (
            "function",
            "next_job_set_trx",
            "CREATE FUNCTION readpast.next_job_set_trx() RETURNS boolean LANGUAGE sql AS 'SELECT TRUE'",
        ),
    ] {
        scratch.run(&format!("GRANT USAGE, CREATE ON SCHEMA readpast TO {mallory}"));
        let connection = changed(&scratch.connection(), &[("Uid", &mallory), ("Pwd", "p")]);
        let mut session = readpast::for_tests::Session::open(&config(&connection, &[])).unwrap();
        session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
        let words = [kind, &format!("\"{name}\""), "in schema \"readpast\"", &mallory, "drop it"];
        assert_says(install(&scratch.config(&[]), Some(&spec())), ErrorKind::PermissionDenied, &words);
        let error = run_rendered(&scratch).unwrap_err();
        assert!(error.message().contains(&format!("{name} belongs to {mallory}")), "{error}");
        let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'readpast' AND tablename LIKE 'queue%'";
        assert_eq!(scratch.look(tables), "0", "nothing is there");
        scratch.run(&format!("DROP OWNED BY {mallory}"));
        scratch.run("CREATE TABLE readpast.no_name_of_ours (x integer)");
        scratch.run(&format!("ALTER TABLE readpast.no_name_of_ours OWNER TO {mallory}"));
    }
    run_rendered(&scratch).unwrap();
    install(&scratch.config(&[]), Some(&spec())).unwrap();
    scratch.run(&format!("DROP OWNED BY {mallory}"));
}

/// A right on a table of ours is enough to make one.
#[test]
fn triggers_that_run_somebody_elses_function() {
    let mut scratch = Scratch::new();
    let mallory = scratch.role();
    trap(&scratch, &mallory);
    scratch.run("CREATE TRIGGER trap BEFORE UPDATE ON readpast.queue_spec FOR EACH ROW EXECUTE FUNCTION public.trap()");
    let words = ["trigger trap on queue_spec", "\"trap\"", &mallory];
    assert_says(install(&scratch.config(&[]), None), ErrorKind::PermissionDenied, &words);
    assert_untouched(&scratch, &mallory);
    scratch.run("DROP FUNCTION public.trap() CASCADE");
}

/// Any install renders the queues of an earlier release anew: their names are looked at as well.
#[test]
fn triggers_on_another_queue_that_is_upgraded_on_the_way() {
    let mut scratch = Scratch::empty();
    install(&scratch.config(&[]), Some(&spec())).unwrap();
    let mallory = scratch.role();
    trap(&scratch, &mallory);
    scratch.run("CREATE TRIGGER trap BEFORE UPDATE ON readpast.job FOR EACH ROW EXECUTE FUNCTION public.trap()");
    scratch.run("UPDATE readpast.queue_spec SET rendered_by = 0");
    let another = QueueSpec::from_json(r#"{"queue": "Another"}"#).unwrap();
    let words = ["upgrading queue Job", "nothing was installed", "trigger trap on job", &mallory];
    for spec in [None, Some(&another)] {
        assert_says(install(&scratch.config(&[]), spec), ErrorKind::PermissionDenied, &words);
    }
    assert_eq!(scratch.look("SELECT string_agg(queue || rendered_by, ',') FROM readpast.queue_spec"), "Job0");
    assert_untouched(&scratch, &mallory);
    scratch.run("DROP FUNCTION public.trap() CASCADE");
    install(&scratch.config(&[]), Some(&another)).unwrap();
}

/// Functions and operators that stand before the server's own on the way of who installs.
#[test]
fn objects_of_the_search_path_are_not_met() {
    let mut scratch = Scratch::empty();
    let mallory = scratch.role();
    scratch.run(&format!(
        "CREATE FUNCTION public.to_regtype(name text) RETURNS regtype LANGUAGE plpgsql AS \
         $$ BEGIN ALTER ROLE {mallory} CREATEDB; RETURN NULL; END $$"
    ));
    scratch.run(&format!("ALTER DATABASE {} SET search_path = public, pg_catalog", scratch.name));
    install(&scratch.config(&[]), Some(&spec())).unwrap();
    run_rendered(&scratch).unwrap();
    assert_untouched(&scratch, &mallory);
}
