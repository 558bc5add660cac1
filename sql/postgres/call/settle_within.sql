SELECT r.* FROM {{ object("modify_" ~ queue ~ "_set_utx") }}(
    ?::uuid, ?::text, ?::json, ?::integer, ?::integer, ?::integer{{ ", (? || 'Z')::timestamptz" if run_time }}{{ ", types_ => ?::json" if asks_types }}{{ ", steps_ => ?::json" if asks_steps }}{{ ", claim_ => ?::bigint" if marks_claims }}
) AS r
