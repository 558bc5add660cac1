SELECT x.key, x.doing || ': ' || x.reason AS reason, x.times
FROM {{ object("queue_refused") }} AS x
WHERE x.queue = ?
ORDER BY x.since
LIMIT 20
