//! A database for one test, on each server at hand.

use readpast::{
    Config, Dialect, Queue, QueueSpec,
    for_tests::Session,
    ident::Identifier,
    install,
    item::{NewItem, Rows, Value},
};
use serde_json::json;
use std::{
    env, process,
    sync::atomic::{AtomicUsize, Ordering},
};
use support::{database, limit::patient};

/// A database, dropped at the end.
pub struct Database {
    pub dialect: Dialect,
    server: String,
    name: String,
}

/// Runs `body` on a database of every server at hand.
pub fn on_each(body: impl Fn(&Database)) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let named = [(Dialect::Postgres, "READPAST_TEST_POSTGRES"), (Dialect::SqlServer, "READPAST_TEST_SQLSERVER")];
    let mut servers = 0;
    for (dialect, server) in named.iter().filter_map(|(dialect, name)| Some((*dialect, env::var(name).ok()?))) {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("readpast_evolution_{}_{number}", process::id());
        database::create(&server, &name);
        body(&Database { dialect, server, name });
        servers += 1;
    }
    assert!(servers > 0, "set READPAST_TEST_POSTGRES (.ci/with_cluster.sh does) or READPAST_TEST_SQLSERVER");
}

impl Drop for Database {
    fn drop(&mut self) {
        database::drop(&self.server, &self.name);
    }
}

impl Database {
    /// The connection string of the server, by its parts in lower case.
    pub fn part(&self, key: &str) -> Option<&str> {
        self.server
            .split(';')
            .filter_map(|part| part.split_once('='))
            .find_map(|(name, value)| name.trim().eq_ignore_ascii_case(key).then_some(value))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn config(&self) -> Config {
        let others = self.server.split(';').filter(|part| !part.to_ascii_lowercase().starts_with("database="));
        let connection = others.filter(|part| !part.is_empty()).chain([]).collect::<Vec<_>>().join(";");
        patient(&format!("{connection};Database={};", self.name))
    }

    pub fn session(&self) -> Session {
        Session::open(&self.config()).unwrap()
    }

    pub fn install(&self, spec: &str) -> readpast::Result<()> {
        install(&self.config(), Some(&QueueSpec::from_text(spec).unwrap()))
    }

    pub fn open(&self, queue: &str) -> Queue {
        Queue::open(&self.config(), queue).unwrap()
    }

    /// The text of the dialect at hand.
    pub fn pick<'a>(&self, sql_server: &'a str, postgres: &'a str) -> &'a str {
        if self.dialect == Dialect::SqlServer { sql_server } else { postgres }
    }

    /// Runs each statement of a script whose statements end in lines that say GO. Servers that cannot create or alter get a
    /// drop and a create, as the library gives them.
    pub fn run(&self, script: &str) {
        let mut session = self.session();
        let schema = Identifier::new("the schema", "readpast").unwrap();
        let probe = self.dialect.schema_call("creates_or_alters", &schema).unwrap();
        let creates_or_alters = lines(&session.execute(&probe, &[]).unwrap())[0] == "Integer(1)";
        let mut run = |statement: &str| {
            session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
        };
        for statement in &support::both::statements(script) {
            match statement.split_once("CREATE OR ALTER ") {
                Some((comment, definition)) if !creates_or_alters => {
                    let mut words = definition.split_whitespace();
                    run(&format!("DROP {} IF EXISTS {}", words.next().unwrap(), words.next().unwrap()));
                    run(&format!("{comment}CREATE {definition}"));
                }
                _ => run(statement),
            }
        }
    }

    /// Whether the server alters a column that a view shows. (SQL Server does, and PostgreSQL once the view is gone, which
    /// the library sees to; a server that is only like SQL Server may not.)
    pub fn alters_columns(&self) -> bool {
        if self.dialect == Dialect::Postgres {
            return true;
        }
        let mut session = self.session();
        session.execute("CREATE TABLE probe (a int NOT NULL)", &[]).unwrap();
        session.execute("CREATE VIEW probe_v AS SELECT a FROM probe", &[]).unwrap();
        let alters = session.execute("ALTER TABLE probe ALTER COLUMN a bigint NULL", &[]).is_ok();
        session.execute("DROP VIEW probe_v", &[]).unwrap();
        session.execute("DROP TABLE probe", &[]).unwrap();
        alters
    }

    /// The rows of a query, a line each.
    pub fn rows(&self, query: &str) -> Vec<String> {
        lines(&self.session().execute(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")))
    }

    /// All rows of a table of the schema, in the order of the key.
    pub fn table(&self, columns: &str, table: &str) -> Vec<String> {
        let schema = self.pick("[readpast]", "readpast");
        self.rows(&format!("SELECT {columns} FROM {schema}.{table} ORDER BY 1"))
    }

    /// The objects of the schema, each by its number, and the columns and indexes of its tables.
    pub fn catalog(&self) -> Vec<String> {
        self.rows(self.pick(
            "SELECT o.name, o.type, CASE WHEN o.type IN ('U', 'SO') THEN o.object_id END, c.name, c.max_length, \
             c.is_nullable, i.name FROM sys.objects AS o LEFT JOIN sys.columns AS c ON c.object_id = o.object_id LEFT JOIN \
             sys.indexes AS i ON i.object_id = o.object_id AND o.type = 'U' WHERE SCHEMA_NAME(o.schema_id) = 'readpast' \
             ORDER BY 1, 2, 4, 7",
            "SELECT c.oid::bigint, c.relname::text, c.relkind::text, a.attname::text, a.atttypmod, a.attnotnull::text, \
             pg_get_indexdef(i.indexrelid) FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND \
             a.attnum > 0 LEFT JOIN pg_index AS i ON i.indexrelid = c.oid WHERE c.relnamespace = \
             'readpast'::regnamespace UNION ALL SELECT p.oid::bigint, p.proname::text, p.proacl::text, \
             pg_get_function_identity_arguments(p.oid), 0, '', MD5(p.prosrc) FROM pg_proc AS p WHERE p.pronamespace = \
             'readpast'::regnamespace ORDER BY 2, 1, 4, 7",
        ))
    }

    /// The definition of an index, or what stands for it: its columns in order, each with its direction.
    pub fn index(&self, name: &str) -> String {
        self.index_in("readpast", name)
    }

    /// The same, of a table in another schema.
    pub fn index_in(&self, schema: &str, name: &str) -> String {
        let query = self.pick(
            "SELECT STRING_AGG(CONCAT(c.name, CASE WHEN k.is_descending_key = 1 THEN ' DESC' ELSE '' END), ', ') WITHIN \
             GROUP (ORDER BY k.key_ordinal) FROM sys.indexes AS i INNER JOIN sys.index_columns AS k ON k.object_id = \
             i.object_id AND k.index_id = i.index_id INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND \
             c.column_id = k.column_id WHERE i.name LIKE '{}%' AND OBJECT_SCHEMA_NAME(i.object_id) = '{schema}'",
            "SELECT indexdef::text FROM pg_indexes WHERE schemaname = '{schema}' AND indexname LIKE '{}%'",
        );
        self.rows(&query.replace("{}", name).replace("{schema}", schema)).join("; ")
    }
}

pub fn lines(rows: &Rows) -> Vec<String> {
    let columns = rows.columns().len();
    (0..rows.len())
        .map(|row| (0..columns).map(|column| shown(rows.value(row, column))).collect::<Vec<_>>().join(" | "))
        .collect()
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_owned(),
        other => format!("{other:?}"),
    }
}

/// An item with these columns.
pub fn item(columns: serde_json::Value) -> NewItem {
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// An item with a title.
pub fn titled(title: &str) -> NewItem {
    item(json!({"Title": title}))
}
