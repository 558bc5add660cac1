/* The statement that drops a schema with all that is in it. */
SELECT
    1 AS turn,
    FORMAT('DROP SCHEMA %I CASCADE', n.nspname) AS statement
FROM pg_catalog.pg_namespace AS n
WHERE n.nspname = ?::text
