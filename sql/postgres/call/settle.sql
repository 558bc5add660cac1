SELECT r.* FROM {{ object("modify_" ~ queue ~ "_set_trx") }}(
    ?::uuid, ?::text, ?::json, ?::integer, ?::integer, ?::integer{{ ", (? || 'Z')::timestamptz" if run_time }}{{ ", types_ => ?::json" if asks_types }}{{ ", steps_ => ?::json" if asks_steps }}{{ ", claim_ => ?::bigint" if marks_claims }}
) AS r
{%- if tersely %}
{#- The first always has a row: no row at all is no answer. #}
WHERE (r.answer <> 'OK' OR r.answer_status <> 'Completed' OR r.answer_ordinal = 0)
{%- endif %}
