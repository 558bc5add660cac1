SELECT x.key, x.doing || ': ' || x.reason AS reason, x.times
FROM {{ object("queue_refused") }} AS x
WHERE x.queue = ? AND x.doing <> 'pause'
ORDER BY x.since
LIMIT 20
