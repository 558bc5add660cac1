SELECT
    a.action_id, a.queue, a.verb, a.who, a.login, a.filter, a.state,
    (DATE_PART('epoch', a.begun_at) * 1000000)::bigint AS begun_us,
    (DATE_PART('epoch', a.ended_at) * 1000000)::bigint AS ended_us,
    a.expected, a.done, a.refused, a.place, a.result,
    (a.ended_at IS NULL AND a.owner IS NOT NULL AND COALESCE(a.lease_until > CLOCK_TIMESTAMP(), FALSE))::integer AS is_held
FROM {{ object("queue_action") }} AS a
WHERE
    a.queue = COALESCE(?::text, a.queue) AND a.action_id = COALESCE(?::bigint, a.action_id)
    AND a.action_id < COALESCE(?::bigint, 9223372036854775807)
ORDER BY a.action_id DESC
LIMIT ?::integer
