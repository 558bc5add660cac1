/* Deadlocks in this database since its figures were reset, in all its sessions. */
SELECT 'deadlocks in the database' AS name, d.deadlocks AS count, NULL::bigint AS ms
FROM pg_catalog.pg_stat_database AS d
WHERE d.datname = CURRENT_DATABASE()
