{%- set procedure = "renew_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
/*
{%- if lease_sliding %}
Extend the leases of a worker's items, counted from now on the server's clock.
{%- else %}
Whether a worker still holds its items. The deadline stays where the claim put it: the leases of this queue are fixed.
{%- endif %}
items_ is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the
token nor an indexed column changes, so a renewal never makes the worker's own settle fail.
Table access order: {{ table_name ~ ", " if role.lease_until }}{{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, items_ json, lease_ms_ integer DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
BEGIN
{%- include "adopted/_local_time.sql" %}
{% include "relational/_settings.sql" %}
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION '{{ procedure }}: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;
{%- if role.lease_until and lease_sliding %}
{% include "adopted/_lock_items.sql" %}
{%- endif %}

    /* In the order of the keys, so that two calls never wait for each other. */
    PERFORM
    FROM (
        SELECT
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %}
        FROM json_to_recordset(items_) AS i (key text)
        ORDER BY {% set of = "key_" %}{% include "adopted/_key_list.sql" %}
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE {% set of = "i.key_" %}{% include "adopted/_lease_at_key.sql" %}
        FOR NO KEY UPDATE
    ) AS s;
    now_ := clock_timestamp();

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %},
            i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key text, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
    ),

    judged AS MATERIALIZED (
        SELECT
            i.*,
            {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}v.item_token,
            v.item_attempt,
            v.item_status,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
{%- if own_types_only %}
                WHEN NOT {% set kind = "v.item_type" %}{% include "adopted/_type_access.sql" %} THEN 'NOT_FOUND'
{%- endif %}
                WHEN
                    v.item_status = 'Processing'
                    AND v.item_has_lease
                    AND v.item_owner = worker_
                    AND v.item_attempt = i.attempt
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {% set of = "i.key_" %}{% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
    )
{%- if lease_sliding %},
{%- if role.lease_until %}

    shown AS (
        UPDATE {{ table }} AS q
        SET {{ role.lease_until }} = now_ + lease_ms_ * interval '1 millisecond'
        FROM judged AS j
        WHERE
            {% set of = "j." -%}{% include "adopted/_at_found.sql" %}
            AND j.answer = 'OK'
    ),
{%- endif %}

    renewed AS (
        UPDATE {{ object(queue ~ "_lease") }} AS s
        SET lease_until = now_ + lease_ms_ * interval '1 millisecond'
        FROM judged AS j
        WHERE
            {% set of = "j.key_" -%}{% include "adopted/_lease_at_key.sql" %}
            AND j.answer = 'OK'
    )
{%- endif %}

    SELECT j.answer, j.ordinal, NULL::bigint, j.key, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(text, json, integer) FROM public;
GO
