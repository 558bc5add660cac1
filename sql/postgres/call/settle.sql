SELECT m.* FROM {{ object("modify_" ~ queue ~ "_set_trx") }}(
    ?::uuid, ?::text, ?::json, ?::integer, ?::integer, ?::integer{{ ", (? || 'Z')::timestamptz" if run_time }}{{ ", types_ => ?::json" if asks_types }}{{ ", steps_ => ?::json" if asks_steps }}{{ ", claim_ => ?::bigint" if marks_claims }}
) AS m
{%- if tersely %}
{#- The first always has a row: no row at all is no answer. #}
WHERE m.answer <> 'OK' OR m.answer_status <> 'Completed' OR m.answer_ordinal = 0
{%- endif %}
