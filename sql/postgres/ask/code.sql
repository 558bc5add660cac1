/* A function: whether the login may execute it, and its text. The settings in between are SQL Server's. */
SELECT
    HAS_FUNCTION_PRIVILEGE(p.oid, 'EXECUTE')::integer AS may_use, 1 AS ansi_nulls, 1 AS quoted_identifier,
    p.prosrc AS text
FROM pg_catalog.pg_proc AS p
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = ?::text AND p.proname = ?::text
