SELECT COUNT(*) AS found FROM pg_catalog.pg_tables AS t
WHERE t.schemaname = ?::text AND t.tablename = 'queue_schema_version'
