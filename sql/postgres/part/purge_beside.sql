    /* Choose, then lock, then look again: only what is locked stays as it was found. */
{%- for case in ["some", "all"] %}
    {{ "IF keys_ IS NOT NULL THEN" if case == "some" else "ELSE" }}
        SELECT {{ m.arrays() }}
        INTO {{ m.list("key_", "_") }}
        FROM (
            SELECT {% for column in key %}v.item_key_{{ loop.index }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
{%- if case == "some" %}
            FROM (
                SELECT DISTINCT
{{- m.key_read("i.key") }}
                FROM UNNEST(keys_) AS i (key)
            ) AS k
            INNER JOIN LATERAL (
                {{ m.found("k.key_", "shown") | indent(16) }}
            ) AS v ON TRUE
{%- else %}
            FROM {{ object(queue ~ "_item_v") }} AS v
{%- endif %}
            WHERE TRUE
{% include "part/fits.sql" %}
            ORDER BY {{ m.list("v.item_key_") }}
            LIMIT max_
        ) AS w
        CROSS JOIN LATERAL (
            SELECT {{ m.columns() }}
            FROM {{ table }} AS q
            WHERE {{ m.at_key("w.key_") }}
            FOR UPDATE SKIP LOCKED
        ) AS q;
{%- endfor %}
    END IF;

    /* Items that are gone from the table leave nothing behind. */
    DELETE FROM {{ object(queue ~ "_lease") }} AS s
    USING (
        SELECT {{ m.list("g.key_") }}
        FROM {{ object(queue ~ "_lease") }} AS g
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE {{ m.at_key("g.key_") }}
            )
        ORDER BY {{ m.list("g.key_") }}
        LIMIT max_
    ) AS g
    WHERE {{ m.lease_at_key("g.key_") }};

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT {{ m.seeks("v.item_seek_", "seek_") }}{{ m.list("k.key_") }}
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", "shown") | indent(12) }}
        ) AS v ON TRUE
        WHERE TRUE
{% include "part/fits.sql" %}
    ),
