{%- if shows_errors %}
{%- include "part/others_errors.sql" %}
{%- endif %}

    /* Workers that may be dead; rows that others hold are passed over, theirs are not. */
    SELECT {{ m.arrays() }}
    INTO {{ m.list("key_", "_") }}
    FROM (
        (
            SELECT {{ m.list("s.key_") }}
            FROM (
                SELECT DISTINCT
                    c.started_at, c.lease_owner
                FROM (
                    SELECT s.started_at, s.lease_owner
                    FROM {{ object(queue ~ "_lease") }} AS s
                    /* Not those that others hold: they may be many, and the rest is behind them. */
                    CROSS JOIN LATERAL (
                        SELECT 1
                        FROM {{ table }} AS q
                        WHERE {{ m.at_key("s.key_") }}
                        FOR NO KEY UPDATE SKIP LOCKED
                    ) AS q
                    WHERE
                        s.status = 'Processing' AND (s.lease_until <= now_ OR s.lease_owner IN (dead_, worker_))
                        AND {{ m.not_refused(m.key_kept("s.key_")) }}
                    ORDER BY s.started_at
                    LIMIT max_
                ) AS c
            ) AS d
            /* The oldest claims first, each with all that is left of it: a chunk must not split one. */
            INNER JOIN {{ object(queue ~ "_lease") }} AS s
                ON
                    s.status = 'Processing' AND s.started_at BETWEEN d.started_at AND d.started_at
                    AND s.lease_owner = d.lease_owner AND (s.lease_until <= now_ OR s.lease_owner IN (dead_, worker_))
                    AND {{ m.not_refused(m.key_kept("s.key_")) }}
        )
{%- if foreign %}
        UNION ALL
        (
            SELECT t.*
            FROM (
                SELECT {{ m.columns() }}
                FROM {{ table }} AS q
                WHERE
                    {{ m.stands(processing) }}
                    AND {% if role.owner %}({% endif %}q.{{ role.started }} <= now_ - {{ m.interval_ms("lease_ms_") }}
{%- if role.owner %} OR q.{{ role.owner }} = worker_){% endif %}
                    AND {{ m.not_refused(m.key_kept_of_row()) }}
                    AND NOT EXISTS (
                        SELECT 1
                        FROM {{ object(queue ~ "_lease") }} AS s
                        WHERE
                            {% for column in key %}s.key_{{ loop.index }} = q.{{ column.quoted }} AND {% endfor %}s.status <> 'Pending'
                    )
                ORDER BY q.{{ role.started }}
                LIMIT max_
                FOR NO KEY UPDATE OF q SKIP LOCKED
            ) AS t
        )
{%- endif %}
    ) AS w ({{ m.list("key_") }})
    CROSS JOIN LATERAL (
        SELECT {{ m.columns() }}
        FROM {{ table }} AS q
        WHERE {{ m.at_key("w.key_") }}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q;

    /* Items that are gone from the table leave nothing behind. */
{%- for status, over in [("Processing", "lease_until")] + ([("Error", "due_at")] if presence and parks_errors else []) %}
    DELETE FROM {{ object(queue ~ "_lease") }} AS s
    USING (
        SELECT {{ m.list("g.key_") }}
        FROM {{ object(queue ~ "_lease") }} AS g
        WHERE
            g.status = '{{ status }}' AND g.{{ over }} <= now_
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE {{ m.at_key("g.key_") }}
            )
        ORDER BY g.{{ "started_at" if status == "Processing" else over }}
        LIMIT max_
    ) AS g
    WHERE {{ m.lease_at_key("g.key_") }};
{%- endfor %}

{% include "part/recover_more.sql" %}
    IF key_1_ IS NULL THEN RETURN;
    END IF;

    /* The table is right about items that somebody changed by hand. */
    UPDATE {{ object(queue ~ "_lease") }} AS s
    SET status = v.item_status, lease_until = NULL
    FROM {{ m.keys_unnested() }}
    INNER JOIN LATERAL (
        {{ m.found("k.key_", []) | indent(8) }}
    ) AS v ON TRUE
    WHERE
        {{ m.lease_at_key("k.key_") }}
        AND s.status = 'Processing' AND v.item_status <> 'Processing';
