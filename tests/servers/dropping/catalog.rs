//! The catalog before an install and after the drop is the same, whatever the description says.

use super::spec;
use readpast::description::Storage;
use readpast::install::{drop_queue, dropping, install};
use readpast::item::Value;
use readpast::{Dialect, QueueSpec};
use std::collections::BTreeSet;
use support::both::Database;
use support::matrix;

/// The queue that is there before and after, with roles that others name too.
const NEIGHBOUR: &str = r#"{"queue": "Neighbour", "types": ["A"], "columns": [{"name": "Customer", "type": "text(40)"}],
    "roles": {"worker": "w", "monitor": "m"},
    "order": {"group": "Customer"}, "limit": [{"at_once": 5}], "retention": {"completed": "30d"}, "schedule": []}"#;

/// All of PostgreSQL's catalog that an install writes to: objects, their columns, constraints, triggers, rights and comments.
const POSTGRES: &str = "
    SELECT 'relation ' || c.oid::regclass || ' ' || c.relkind::text || ' ' || c.reloptions::text FROM pg_class AS c
    WHERE c.relnamespace > 16383 OR c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'relation ' || c.oid::regclass || ' ' || c.relkind::text FROM pg_class AS c
    WHERE c.relnamespace > 16383 OR c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'column ' || a.attrelid::regclass || '.' || a.attname || ' ' || a.atttypid::regtype || ' ' || a.attnotnull
    FROM pg_attribute AS a INNER JOIN pg_class AS c ON c.oid = a.attrelid
    WHERE (c.relnamespace > 16383 OR c.relnamespace = 'public'::regnamespace) AND a.attnum > 0
    UNION ALL
    SELECT 'function ' || p.oid::regprocedure FROM pg_proc AS p
    WHERE p.pronamespace > 16383 OR p.pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'type ' || t.oid::regtype FROM pg_type AS t
    WHERE t.typnamespace > 16383 OR t.typnamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'constraint ' || k.conname || ' ' || k.conrelid::regclass || ' ' || k.contypid::regtype || ' ' || pg_get_constraintdef(k.oid)
    FROM pg_constraint AS k WHERE k.connamespace > 16383 OR k.connamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'trigger ' || t.tgname || ' ' || t.tgrelid::regclass FROM pg_trigger AS t WHERE NOT t.tgisinternal
    UNION ALL
    SELECT 'schema ' || n.nspname FROM pg_namespace AS n WHERE n.nspname !~ '^pg_'
    UNION ALL
    SELECT 'right ' || g.name || ' ' || a.privilege_type || ' ' || a.grantee::regrole
    FROM (
        SELECT 'schema ' || n.nspname AS name, n.nspacl AS acl, n.nspowner AS owner FROM pg_namespace AS n
        UNION ALL SELECT c.oid::regclass::text, c.relacl, c.relowner FROM pg_class AS c
        UNION ALL SELECT p.oid::regprocedure::text, p.proacl, p.proowner FROM pg_proc AS p
        UNION ALL SELECT t.oid::regtype::text, t.typacl, t.typowner FROM pg_type AS t
    ) AS g CROSS JOIN LATERAL aclexplode(g.acl) AS a WHERE a.grantee NOT IN (0, g.owner)
    UNION ALL SELECT 'spec ' || q.queue FROM readpast.queue_spec AS q
    UNION ALL SELECT 'recovery ' || q.queue FROM readpast.queue_recovery AS q
    UNION ALL SELECT 'access ' || q::text FROM readpast.queue_type_access AS q
    UNION ALL SELECT 'setting ' || q::text FROM readpast.app_settings AS q
    UNION ALL SELECT 'version ' || q.version FROM readpast.queue_schema_version AS q";

/// The same of SQL Server's.
const SQL_SERVER: &str = "
    SELECT CONCAT(CAST(o.[type] AS nvarchar(10)), N' ', SCHEMA_NAME(o.[schema_id]), N'.', o.[name]) FROM sys.objects AS o
    WHERE o.[is_ms_shipped] = 0
    UNION ALL
    SELECT CONCAT(N'index ', OBJECT_NAME(i.[object_id]), N' ', i.[name]) FROM sys.indexes AS i
    INNER JOIN sys.objects AS o ON o.[object_id] = i.[object_id] WHERE o.[is_ms_shipped] = 0
    UNION ALL
    SELECT CONCAT(N'column ', OBJECT_NAME(c.[object_id]), N'.', c.[name]) FROM sys.columns AS c
    INNER JOIN sys.objects AS o ON o.[object_id] = c.[object_id] WHERE o.[is_ms_shipped] = 0
    UNION ALL
    SELECT CONCAT(N'type ', SCHEMA_NAME(t.[schema_id]), N'.', t.[name]) FROM sys.types AS t WHERE t.[is_user_defined] = 1
    UNION ALL
    SELECT CONCAT(N'right ', OBJECT_NAME(p.[major_id]), N' ', p.[permission_name], N' ', USER_NAME(p.[grantee_principal_id]))
    FROM sys.database_permissions AS p
    UNION ALL SELECT CONCAT(N'spec ', q.[Queue]) FROM [readpast].[QueueSpec] AS q
    UNION ALL SELECT CONCAT(N'recovery ', q.[Queue]) FROM [readpast].[QueueRecovery] AS q
    UNION ALL SELECT CONCAT(N'access ', q.[Queue], N' ', q.[UserName]) FROM [readpast].[QueueTypeAccess] AS q
    UNION ALL SELECT CONCAT(N'setting ', q.[Param]) FROM [readpast].[AppSettings] AS q
    UNION ALL SELECT CONCAT(N'version ', q.[Version]) FROM [readpast].[QueueSchemaVersion] AS q";

pub fn catalog(database: &Database) -> BTreeSet<String> {
    let mut lines = looked_up(database, database.pick(SQL_SERVER, POSTGRES));
    // These tables are there where a queue needs them.
    for (sql_server, postgres) in [("QueueTurn", "queue_turn"), ("QueueRetention", "queue_retention")] {
        let name = database.pick(sql_server, postgres);
        if lines.iter().any(|line| line.to_lowercase().contains(&format!("readpast.{}", name.to_lowercase()))) {
            lines.extend(looked_up(database, &format!("SELECT CONCAT('{name} ', q.queue) FROM readpast.{name} AS q")));
        }
    }
    lines
}

fn looked_up(database: &Database, query: &str) -> BTreeSet<String> {
    let rows = database.rows(query);
    (0..rows.len())
        .filter_map(|row| match rows.value(row, 0) {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        })
        .collect()
}

/// Objects that the descriptions of the matrix name, and no install makes.
fn prepare(database: &Database) {
    database.run(database.pick(
        "CREATE TYPE dbo.OtpCode FROM nvarchar(6);\nGO\nCREATE TABLE dbo.Users (ID bigint NOT NULL PRIMARY KEY);",
        "CREATE SCHEMA dbo;\nGO\nCREATE DOMAIN dbo.otpcode AS text;\nGO\nCREATE TABLE dbo.users (id bigint PRIMARY KEY);",
    ));
    install(&database.config(&[]), Some(&spec(NEIGHBOUR))).unwrap();
}

/// Installs, drops, and takes away what is the user's.
fn there_and_back(database: &Database, spec: &QueueSpec) -> Vec<String> {
    install(&database.config(&[]), Some(spec)).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    let name = spec.queue.as_str();
    let plan = dropping(&database.config(&[]), name).unwrap();
    drop_queue(&database.config(&[]), name).unwrap();
    let quoted = |name: &str| match database.dialect {
        Dialect::SqlServer => format!("[{name}]"),
        Dialect::Postgres => format!("\"{name}\""),
    };
    let stays = plan.stays.iter().map(|table| format!("{}.{}", quoted(&table.schema), quoted(&table.name)));
    stays.collect()
}

#[test]
fn every_queue_leaves_the_catalog_as_it_was() {
    for database in Database::each() {
        prepare(&database);
        let before = catalog(&database);
        assert!(before.len() > 100, "the catalog should be read: {before:?}");
        // All options together, and each that goes with no other.
        let mut options = vec!["_everything", "_plain", "_history", "_dedup", "_retention"];
        // The stand-in for SQL Server cannot compute a shard.
        options.extend(database.heeds_lock_hints().then_some("_shards"));
        for (name, spec) in matrix::specs().into_iter().filter(|(name, _)| options.iter().any(|o| name.ends_with(o))) {
            let own = match &spec.storage {
                Storage::Own => true,
                Storage::Table(table) if table.create => false,
                // The table that they describe is not there.
                Storage::Table(_) | Storage::Procedures(_) => continue,
            };
            let stays = there_and_back(&database, &spec);
            assert_eq!(own, stays.is_empty(), "{name}: {stays:?}");
            // Those with a foreign key first.
            for table in stays.iter().rev() {
                database.run(&format!("DROP TABLE {table}"));
            }
            let after = catalog(&database);
            let left: Vec<_> = after.difference(&before).collect();
            let lost: Vec<_> = before.difference(&after).collect();
            assert!(left.is_empty() && lost.is_empty(), "{name} leaves {left:#?} and takes {lost:#?}");
        }
    }
}
