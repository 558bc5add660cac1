SELECT {{ object("queue_action_note") }}(?::text, ?::text, ?::text, ?::text, ?::text, ?::bigint, ?::bigint, ?::bigint, ?::text)
