//! A schema, and a table under one of our names, that belong to somebody who is not trusted: nothing is installed, by the
//! library or by the rendered script. What his triggers would do is tried in `bad_input`, on PostgreSQL.

use super::database::{Database, on_each};
use readpast::Dialect;
use readpast::error::ErrorKind;
use readpast::ident::Identifier;
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
                assert_refused(database, "schema", "readpast", &user);
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
                assert_refused(database, if is_sql_server { "object" } else { "relation" }, name, &user);
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

#[track_caller]
fn assert_refused(database: &Database, kind: &str, name: &str, owner: &str) {
    let error = database.install(SPEC).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    for word in ["nothing was installed", kind, name, owner] {
        assert!(error.message().to_lowercase().contains(&word.to_lowercase()), "{word:?} is missing in: {error}");
    }
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let script = readpast::render::script(database.dialect, &schema, None).unwrap();
    let mut session = database.session();
    let refused = statements(&script).iter().find_map(|statement| session.execute(statement, &[]).err());
    let message = refused.expect("the script ends").message().to_lowercase();
    assert!(message.contains(&format!("belongs to {owner}")), "{message}");
}
