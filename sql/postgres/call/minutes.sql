SELECT (DATE_PART('epoch', m.at) * 1000)::bigint AS at_ms, m.due, m.oldest_ms, m.in_flight, m.failed, m.ended
FROM {{ object("queue_minute") }} AS m
WHERE m.queue = ?::text AND m.at > TO_TIMESTAMP(?::bigint / 1000.0)
ORDER BY m.at
