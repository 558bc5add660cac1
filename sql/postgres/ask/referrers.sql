/* The foreign keys of other tables on these, whose names are a JSON list. */
WITH these AS (
    SELECT c.oid
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ?::text AND c.relname IN (SELECT t.name FROM JSON_ARRAY_ELEMENTS_TEXT(?::json) AS t (name))
)

SELECT n.nspname::text AS schema_name, c.relname::text AS table_name, k.conname::text AS key_name
FROM pg_catalog.pg_constraint AS k
INNER JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE
    k.contype = 'f' AND k.conparentid = 0 AND k.confrelid IN (SELECT t.oid FROM these AS t)
    AND k.conrelid NOT IN (SELECT t.oid FROM these AS t)
ORDER BY 1, 2, 3
