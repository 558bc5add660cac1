/* PostgreSQL writes what met in a deadlock to its log alone. */
SELECT NULL::text AS graph
WHERE ?::text IS NULL
