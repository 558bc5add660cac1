SELECT {{ object("queue_minute_keep") }}(?::text, ?::bigint, ?::bigint, ?::bigint, ?::bigint, ?::bigint)::integer
