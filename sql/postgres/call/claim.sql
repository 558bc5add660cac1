SELECT * FROM {{ object("next_" ~ queue ~ "_set_trx") }}(?::text, ?::integer, ?::integer, ?::integer{{ ", (? || 'Z')::timestamptz" if run_time }})
