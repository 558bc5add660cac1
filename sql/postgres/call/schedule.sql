SELECT {{ object("schedule_" ~ queue ~ "_trx") }}(?::text, ?::text, ?::text, ?::json, ?::text, ?::text, ?::integer = 1, ?::integer = 1)
