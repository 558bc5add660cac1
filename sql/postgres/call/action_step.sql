SELECT {{ object("queue_action_step") }}(?::bigint, ?::text, ?::integer, ?::bigint, ?::bigint, ?::text, ?::text, ?::text)
