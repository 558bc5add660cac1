SELECT
    w.worker, w.host, w.process, w.version,
    (DATE_PART('epoch', w.started_at) * 1000000)::bigint AS started_us,
    (DATE_PART('epoch', w.seen_at) * 1000000)::bigint AS seen_us,
    (DATE_PART('epoch', CLOCK_TIMESTAMP() - w.seen_at) * 1000)::bigint AS ago_ms
FROM {{ object("queue_worker") }} AS w
WHERE w.queue = ?::text
ORDER BY w.seen_at DESC, w.worker
LIMIT 1000
