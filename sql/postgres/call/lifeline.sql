SELECT {{ object("queue_lifeline_take") }}(?::text, ?::text)
