SELECT {{ object("queue_worker_seen") }}(?::text, ?::text, ?::text, ?::bigint, ?::text)
