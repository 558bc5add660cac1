/* Waits of the sessions of one program at this moment. A server process that waits for nothing runs. */
SELECT
    COALESCE(a.wait_event_type || '/' || a.wait_event, 'running') AS name,
    COUNT(*) AS count,
    NULL::bigint AS ms
FROM pg_catalog.pg_stat_activity AS a
WHERE a.application_name = ?::text AND a.state = 'active'
GROUP BY a.wait_event_type, a.wait_event
