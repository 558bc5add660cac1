
    added_{{ loop.index }} AS (
        INSERT INTO {{ subtype.table }} (enqueued_at{% for column in subtype.columns %}, {{ column.quoted }}{% endfor %})
        SELECT
            i.key{% for column in subtype.columns %},
            {{ of.given(column, "i.columns -> " ~ text(subtype.name), "c." ~ column.quoted) }}{% endfor %}
        FROM item AS i
        /* Counted, so that the items are in before what belongs to them. */
        CROSS JOIN (SELECT COUNT(*) FROM added) AS a
        CROSS JOIN LATERAL json_to_record(
            CASE json_typeof(i.columns -> {{ text(subtype.name) }})
                WHEN 'object' THEN i.columns -> {{ text(subtype.name) }}
                ELSE '{}'
            END
        ) AS c (
{%- for column in subtype.columns %}
            {{ column.quoted }} {{ of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
        )
        WHERE
{%- if subtype.exclusive %}
            /* Every item of the type has a row; that no other has one is checked by the table. */
            (i.type = {{ text(subtype.name) }} OR json_typeof(i.columns -> {{ text(subtype.name) }}) = 'object')
{%- else %}
            json_typeof(i.columns -> {{ text(subtype.name) }}) = 'object'
{%- endif %}
{%- if dedup %}
            AND (i.key IN (SELECT b.enqueued_at FROM added AS b)) IS TRUE
{%- endif %}
    )
