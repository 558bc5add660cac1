SELECT {{ object("queue_sleep") }}(?::json, ?::text, ?::integer)
