/* How often the indexes of a table were used since the statistics began. */
SELECT s.indexrelname::text AS name, s.idx_scan AS uses
FROM pg_catalog.pg_stat_user_indexes AS s
WHERE s.schemaname = ?::text AND s.relname = ?::text
