SELECT * FROM {{ object("modify_" ~ queue ~ "_set_utx") }}(
    ?::uuid, ?::text, ?::json, ?::integer, ?::integer, ?::integer{{ ", (? || 'Z')::timestamptz" if run_time }}
)
