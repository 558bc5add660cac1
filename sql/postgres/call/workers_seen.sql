SELECT s.queue, s.workers FROM {{ object("queue_workers_seen") }}(?::json, ?::text, ?::bigint, ?::text) AS s
