EXISTS (
        SELECT 1
        FROM pg_catalog.pg_tables AS t
        WHERE t.schemaname::text = {{ text(schema_name) }} AND t.tablename::text = 'queue_schema_version'
    )
