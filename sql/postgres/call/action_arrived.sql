SELECT a.action_id
FROM {{ object("queue_action") }} AS a
WHERE a.queue = ?::text AND a.verb = 'rebalance' AND a.state = 'Done' AND a.filter = ?::text
LIMIT 1
