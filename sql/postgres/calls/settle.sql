SELECT * FROM {{ object("modify_" ~ queue ~ "_set_trx") }}(
    ?::uuid, ?::text, ?::json, ?::integer, ?::integer, ?::integer = 1{{ ", (? || 'Z')::timestamptz" if run_time }}
)
