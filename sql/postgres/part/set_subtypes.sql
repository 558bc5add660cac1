{#- The subtypes' rows are there: the judge has looked. -#}
{%- for subtype in subtypes %}

    set_{{ loop.index }} AS (
        UPDATE {{ object(queue ~ "_" ~ subtype.stem) }} AS u
        SET
{%- set given = "d.new_values -> " ~ text(subtype.name) %}
{%- for column in subtype.columns %}
            {{ column.quoted }} = {{ value.becomes(column, given, "u." ~ column.quoted) }}{{ "," if not loop.last }}
{%- endfor %}
        FROM decided AS d
        WHERE
            u.enqueued_at BETWEEN d.key_1 AND d.key_1
            AND d.answer = 'OK'
            AND json_typeof({{ given }}) = 'object'
    ),
{%- endfor %}
