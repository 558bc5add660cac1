SELECT {{ object("queue_pause_end") }}(?::text, ?::text)::integer
