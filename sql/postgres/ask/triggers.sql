/* The triggers of a table that fire, and whether in place of what fires them, which those of a table cannot. */
SELECT
    t.tgname::text AS name,
    0 AS instead_of
FROM pg_catalog.pg_trigger AS t
INNER JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ?::text AND c.relname = ?::text AND NOT t.tgisinternal AND t.tgenabled <> 'D'
ORDER BY t.tgname
