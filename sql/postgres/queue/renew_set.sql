{%- import "part/macros.sql" as m -%}
{%- import "part/checks.sql" as check -%}
{%- set procedure = "renew_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
{%- if lease_sliding %}
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
{%- else %}
Tell a worker whether it still holds its items; leases are fixed, none is extended. items_ is an array of objects with
{%- endif %}
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: {{ table_name ~ (", " ~ queue ~ "_lease" if beside) if role.lease_until else queue ~ "_lease" }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, items_ json, lease_ms_ integer DEFAULT NULL
)
RETURNS TABLE ({{ m.answer_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
BEGIN
{%- include "part/local_time.sql" %}
{% include "part/settings.sql" %}
{{- check.checks(procedure, ["lease"]) }}
{{- check.takes_names(procedure, takes.renew) }}
{%- if beside %}
{%- if role.lease_until and lease_sliding %}
{% include "part/lock_items.sql" %}
{%- endif %}

    /* In the order of the keys, so that two calls never wait for each other. */
    PERFORM
    FROM (
        SELECT
{{- m.key_read("i.key") }}
        FROM json_to_recordset(items_) AS i (key {{ m.key_given() }})
        ORDER BY {{ m.list("key_") }}
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE {{ m.lease_at_key("i.key_") }}
        FOR NO KEY UPDATE
    ) AS s;
    now_ := clock_timestamp();
{%- endif %}

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
{{- m.key_read("i.key") }},
            i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key {{ m.key_given() }}, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY {{ m.list("key_") }}
    ),

    /* In the order of the keys, so that two calls never wait for each other. */
    judged AS MATERIALIZED (
        SELECT
            i.*,
            {{ m.seeks("v.item_seek_", "seek_") }}v.item_token,
            v.item_attempt,
            v.item_status,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN {{ m.holds("i.attempt") }}{{ " AND v.item_has_lease" if beside }} THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", ["status", "token", "attempt", "owner"], true) }}
        ) AS v
            ON TRUE
    )
{%- if lease_sliding %}
{%- set until = ("now_" if beside else "n.now") ~ " + " ~ m.interval_ms("lease_ms_") %}
{%- if role.lease_until %},

    shown AS (
        UPDATE {{ table }} AS q
        SET {{ role.lease_until }} = {{ until }}
        FROM judged AS j
{%- if not beside %}
        /* Once they are locked, and one time for all of them: what was claimed together runs out together. */
        CROSS JOIN (SELECT clock_timestamp() AS now FROM (SELECT COUNT(*) FROM judged) AS c) AS n
{%- endif %}
        WHERE
            {{ m.at_key("j.key_") }}
            AND j.answer = 'OK'
    )
{%- endif %}
{%- if beside %},

    renewed AS (
        UPDATE {{ object(queue ~ "_lease") }} AS s
        SET lease_until = {{ until }}
        FROM judged AS j
        WHERE
            {{ m.lease_at_key("j.key_") }}
            AND j.answer = 'OK'
    )
{%- endif %}
{%- endif %}

    SELECT
        j.answer,
        j.ordinal,
        NULL::bigint,
        {{ m.key_text("j.key_") }},
        j.item_token,
        j.item_attempt,
        j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, json, integer) FROM public;
{% endfilter %}
