/*
The triggers of a table that fire; whether in place of what fires them, which those of a table cannot; and whose function each runs,
where that is another's than the table is.
*/
SELECT
    t.tgname::text AS name, 0 AS instead_of,
    CASE WHEN f.proowner <> c.relowner AND NOT r.rolsuper THEN r.rolname::text ELSE '' END AS stranger
FROM pg_catalog.pg_trigger AS t
INNER JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
INNER JOIN pg_catalog.pg_proc AS f ON f.oid = t.tgfoid
INNER JOIN pg_catalog.pg_roles AS r ON r.oid = f.proowner
WHERE n.nspname = ?::text AND c.relname = ?::text AND NOT t.tgisinternal AND t.tgenabled <> 'D'
ORDER BY t.tgname
