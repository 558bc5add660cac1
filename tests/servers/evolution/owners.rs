//! A schema, and a table under one of our names, that belong to somebody who is not trusted: nothing is installed, by the
//! library or by the rendered script. What his triggers would do is tried in `bad_input`, on PostgreSQL.

use super::database::{Database, on_each};
use readpast::error::ErrorKind;
use readpast::ident::Identifier;
use readpast::{Dialect, QueueSpec};
use support::both::statements;

const SPEC: &str = r#"{"queue": "Job"}"#;

#[test]
fn somebody_elses_schema_and_tables_are_refused() {
    on_each(|database| {
        let user = format!("mallory_{}", std::process::id());
        let is_sql_server = database.dialect == Dialect::SqlServer;
        if is_sql_server {
            run(database, &format!("CREATE LOGIN {user} WITH PASSWORD = 'Pwd_12345678'"));
            run(database, &format!("CREATE USER {user} FOR LOGIN {user}"));
        } else {
            run(database, &format!("CREATE ROLE {user}"));
        }
        let created = database.session().execute(&format!("CREATE SCHEMA readpast AUTHORIZATION {user}"), &[]);
        match created {
            Ok(_) => {
                assert_refused(database, &["schema", "readpast", "belongs to", &user]);
                // The schema is the installer's, and the other has been in it.
                run(database, "DROP SCHEMA readpast");
                run(database, "CREATE SCHEMA readpast");
                let (table, name) = if is_sql_server {
                    ("[readpast].[AppSettings]", "AppSettings")
                } else {
                    ("readpast.app_settings", "app_settings")
                };
                run(database, &format!("CREATE TABLE {table} (x integer)"));
                let given = if is_sql_server {
                    format!("ALTER AUTHORIZATION ON {table} TO {user}")
                } else {
                    format!("ALTER TABLE {table} OWNER TO {user}")
                };
                run(database, &given);
                let kind = if is_sql_server { "object" } else { "relation" };
                assert_refused(database, &[kind, name, "belongs to", &user]);
                run(database, &format!("DROP TABLE {table}"));
            }
            // There are servers like SQL Server on which everything belongs to the database's owner.
            Err(error) => assert!(is_sql_server && error.kind() == ErrorKind::Database, "{error}"),
        }
        database.install(SPEC).unwrap();
        if is_sql_server {
            run(database, &format!("DROP USER {user}"));
            run(database, &format!("DROP LOGIN {user}"));
        } else {
            run(database, &format!("DROP ROLE {user}"));
        }
    });
}

fn run(database: &Database, statement: &str) {
    database.session().execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// On SQL Server an object belongs to its schema's owner, not to its maker: so what an install has not made is refused, and who may
/// change the schema counts as an owner.
#[test]
fn preparations_in_a_schema_of_ones_own_are_refused() {
    on_each(|database| {
        if database.dialect != Dialect::SqlServer {
            return;
        }
        run(database, "CREATE SCHEMA [readpast]");
        for (made, kind) in [
            ("PROCEDURE [readpast].[QueueCatalog] AS SELECT 1", "PROCEDURE"),
            ("TABLE [readpast].[Job] (x int)", "TABLE"),
        ] {
            run(database, &format!("CREATE {made}"));
            let name = if kind == "TABLE" { "Job" } else { "QueueCatalog" };
            assert_refused(database, &["object", name, "is there without", "QueueSchemaVersion"]);
            run(database, &format!("DROP {kind} [readpast].[{name}]"));
        }
        database.install(SPEC).unwrap();
        for table in ["QueueSpec", "Job"] {
            run(
                database,
                &format!("CREATE TRIGGER [readpast].[Trap] ON [readpast].[{table}] AFTER INSERT AS SELECT 1"),
            );
            assert_refused(database, &["trigger", "Trap", "fires on", table]);
            run(database, &format!("DISABLE TRIGGER [readpast].[Trap] ON [readpast].[{table}]"));
            database.install(SPEC).unwrap();
            run(database, "DROP TRIGGER [readpast].[Trap]");
        }
        rights_on_the_schema_are_refused(database);
    });
}

fn rights_on_the_schema_are_refused(database: &Database) {
    let (eve, role) = (format!("eve_{}", std::process::id()), format!("deployers_{}", std::process::id()));
    run(database, &format!("CREATE LOGIN {eve} WITH PASSWORD = 'Pwd_12345678'"));
    run(database, &format!("CREATE USER {eve} FOR LOGIN {eve}"));
    run(database, &format!("CREATE ROLE {role}"));
    run(database, &format!("GRANT SELECT ON SCHEMA::[readpast] TO {eve}"));
    database.install(SPEC).unwrap();
    let mut granted = true;
    for (right, on) in [
        ("ALTER", "SCHEMA::[readpast]"),
        ("CONTROL", "SCHEMA::[readpast]"),
        ("TAKE OWNERSHIP", "SCHEMA::[readpast]"),
        ("ALTER", "OBJECT::[readpast].[QueueSpec]"),
        ("CONTROL", "OBJECT::[readpast].[Job]"),
    ] {
        for holder in [&eve, &role] {
            match database.session().execute(&format!("GRANT {right} ON {on} TO {holder}"), &[]) {
                Ok(_) => assert_refused(database, &[&format!("gives {right} to"), holder]),
                // There are servers like SQL Server that know no such right.
                Err(error) => {
                    assert!(error.message().contains("not currently supported"), "{error}");
                    granted = false;
                    continue;
                }
            }
            run(database, &format!("REVOKE {right} ON {on} FROM {holder}"));
            database.install(SPEC).unwrap();
        }
    }
    if granted {
        // An owner of the database has every right anyway.
        run(database, &format!("GRANT ALTER ON SCHEMA::[readpast] TO {eve}"));
        run(database, &format!("ALTER ROLE db_owner ADD MEMBER {eve}"));
        database.install(SPEC).unwrap();
    }
    run(database, &format!("REVOKE SELECT ON SCHEMA::[readpast] FROM {eve}"));
    run(database, &format!("DROP ROLE {role}"));
    run(database, &format!("DROP USER {eve}"));
    run(database, &format!("DROP LOGIN {eve}"));
}

/// Refused by the library and by the rendered script, in these words.
#[track_caller]
fn assert_refused(database: &Database, words: &[&str]) {
    let error = database.install(SPEC).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let spec = QueueSpec::from_json(SPEC).unwrap();
    let script = readpast::render::script(database.dialect, &schema, Some(&spec)).unwrap();
    let mut session = database.session();
    let refused = statements(&script).iter().find_map(|statement| session.execute(statement, &[]).err());
    let script = refused.expect("the script ends");
    assert!(error.message().contains("nothing was installed"), "{error}");
    for message in [error.message(), script.message()] {
        for word in words {
            assert!(message.to_lowercase().contains(&word.to_lowercase()), "{word:?} is missing in: {message}");
        }
    }
}
