SELECT {{ object("queue_workers_seen") }}(?::json, ?::text, ?::bigint, ?::text)
