/* The sequences in a schema. Every login sees them; where there is none a row says so. */
SELECT 1 AS sees, c.relname::text AS name
FROM (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = ?::text) AS n
LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relkind = 'S'
ORDER BY c.relname
