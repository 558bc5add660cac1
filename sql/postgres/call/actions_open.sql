SELECT a.action_id, a.verb
FROM {{ object("queue_action") }} AS a
WHERE
    a.queue = ?::text AND a.ended_at IS NULL
    AND (a.verb = 'rebalance' OR (a.lease_until > CLOCK_TIMESTAMP()) IS NOT TRUE)
ORDER BY a.action_id
LIMIT 100
