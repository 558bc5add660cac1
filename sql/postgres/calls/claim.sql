SELECT * FROM {{ object("next_" ~ queue ~ "_set_trx") }}(?::text, ?::integer, ?::integer, ?::integer = 1{{ ", (? || 'Z')::timestamptz" if run_time }})
