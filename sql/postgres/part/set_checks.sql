{#-
Values to set: only columns that may be, and nothing that is deleted with its item. Whether an item has the subtype is judged with it
(`part/judge`).
-#}
{%- set names = settable | map(attribute="name") | list + subtypes | map(attribute="name") | list %}
    /* Most calls set nothing, and are not read twice for it. A name can be written with escapes. */
    IF position('"set"' IN items_::text) > 0 OR position('\u00' IN items_::text) > 0 THEN
{% filter indent(4, true) %}{% if can_set %}    sets_ := EXISTS (SELECT 1 FROM json_to_recordset(items_) AS g (set json) WHERE g.set IS NOT NULL);
{% endif %}    no_set_ := (
        SELECT w.why
        FROM (
            SELECT
                g.status,
                g.set AS new_values,
                g.position
            FROM
                ROWS FROM (json_to_recordset(items_) AS (status text, set json))
                WITH ORDINALITY AS g (status, set, position)
            WHERE g.set IS NOT NULL
        ) AS i
        CROSS JOIN LATERAL (
            SELECT 'set is no object' AS why
            WHERE json_typeof(i.new_values) <> 'object'
{%- if completion == "delete" %}
            UNION ALL
            SELECT 'what is completed is deleted, with all that is set'
            WHERE i.status = 'Completed'
{%- endif %}
            UNION ALL
            SELECT format('there is no column %s to set', k.name)
            FROM {{ value.names("i.new_values") }}
{%- if names %}
            WHERE
                k.name NOT IN (
                    {% for name in names %}{{ text(name) }}{{ (",\n                    " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                )
{%- endif %}
{%- for subtype in subtypes %}
            UNION ALL
            SELECT format('there is no column {{ subtype.name }}.%s to set', k.name)
            FROM {{ value.names("i.new_values -> " ~ text(subtype.name)) }}
            WHERE
                k.name NOT IN (
                    {% for column in subtype.columns %}{{ text(column.name) }}{{ (",\n                    " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                )
{%- endfor %}
        ) AS w
        ORDER BY i.position
        LIMIT 1
    );
    IF no_set_ IS NOT NULL THEN
        RAISE EXCEPTION '{{ procedure }}: %', no_set_ USING ERRCODE = 'RP021';
    END IF;
{% endfilter %}
    END IF;
