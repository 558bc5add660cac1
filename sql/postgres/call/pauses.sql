SELECT
    p.type,
    (DATE_PART('epoch', p.since) * 1000000)::bigint AS since_us,
    (DATE_PART('epoch', p.until) * 1000000)::bigint AS until_us,
    p.who, p.login, p.reason
FROM {{ object("queue_paused_v") }} AS p
WHERE p.queue = ?::text
ORDER BY p.type
