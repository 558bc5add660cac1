{#- The subtypes' rows are there: the judge has looked. -#}
{%- for subtype in subtypes %}

    set_{{ loop.index }} AS (
        UPDATE {{ subtype.table }} AS u
        SET
{%- set given = "d.new_values -> " ~ text(subtype.name) %}
{%- for column in subtype.columns %}
            {{ column.quoted }} = {{ value.becomes(column, given, "u." ~ column.quoted) }}{{ "," if not loop.last }}
{%- endfor %}
        FROM decided AS d
        WHERE
            {{ m.subtype_at_key("d.key_") }}
            AND d.answer = 'OK'
            AND json_typeof({{ given }}) = 'object'
    ),
{%- endfor %}
