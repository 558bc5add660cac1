SELECT {{ object("queue_pause_begin") }}(?::text, ?::text, ?::text::timestamptz, ?::bigint, ?::text, ?::text)
