SELECT {{ object("queue_await") }}(?::text, ?::json, ?::text, ?::integer, ?::integer <> 0)
