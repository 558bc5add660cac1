/*
The holders that keep the server from clearing away what was updated and deleted in this database since: sessions, prepared transactions,
replication slots, and standbys that report what they read. The oldest first. Seconds are unknown of a slot.
*/
SELECT h.kind, h.who, h.name, h.seconds, h.age
FROM (
    SELECT
        'session' AS kind,
        format('session %s of %s (%s)', a.pid, a.usename, concat_ws(', ', a.state, NULLIF(a.application_name, ''))) AS who,
        a.pid::text AS name, EXTRACT(EPOCH FROM CLOCK_TIMESTAMP() - a.xact_start)::bigint AS seconds,
        GREATEST(AGE(a.backend_xmin), AGE(a.backend_xid))::bigint AS age
    FROM pg_catalog.pg_stat_activity AS a
    WHERE a.datname = CURRENT_DATABASE() AND a.pid <> PG_BACKEND_PID()
    UNION ALL
    SELECT
        'prepared', format('the prepared transaction %s of %s', p.gid, p.owner), p.gid,
        EXTRACT(EPOCH FROM CLOCK_TIMESTAMP() - p.prepared)::bigint, AGE(p.transaction)::bigint
    FROM pg_catalog.pg_prepared_xacts AS p
    WHERE p.database = CURRENT_DATABASE()
    UNION ALL
    SELECT
        'slot',
        format('the replication slot %s, which %s reads,', s.slot_name, CASE WHEN s.active THEN 'somebody' ELSE 'nobody' END),
        s.slot_name::text, NULL, AGE(s.xmin)::bigint
    FROM pg_catalog.pg_replication_slots AS s
    UNION ALL
    SELECT
        'standby',
        format('a transaction on the standby %s, which reports it,', COALESCE(r.application_name, r.pid::text)),
        r.pid::text, NULL, AGE(r.backend_xmin)::bigint
    FROM pg_catalog.pg_stat_replication AS r
) AS h
WHERE h.age IS NOT NULL AND (h.seconds > ?::integer OR h.age > ?::integer)
ORDER BY h.age DESC, h.kind, h.name
LIMIT 5
