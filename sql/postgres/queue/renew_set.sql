{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- import "macro/checks.sql" as check -%}
{%- set procedure = "renew_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set asked = ["status", "token", "attempt", "owner"] -%}
{%- macro items() %}
        SELECT (i.position - 1)::integer AS ordinal,
{{- m.key_read("i.key") }},
            i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key {{ m.key_given() }}, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
{%- endmacro -%}
{%- macro answer() -%}
CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN {{ m.holds("i.attempt") }}{{ " AND v.item_has_lease" if beside }} THEN 'OK'
                ELSE 'LEASE_LOST'
            END
{%- endmacro -%}
{% filter made("FUNCTION", procedure) %}
/*
{%- if lease_sliding %}
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
{%- else %}
Tell a worker whether it still holds its items; leases are fixed, none is extended. items_ is an array of objects with
{%- endif %}
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
{%- if lease_sliding %}
It waits for nobody: one transaction that keeps a row would cost the worker the leases of all the others. An item that somebody has
locked is answered by what all see, OK while it is the worker's; its lease stays as it is, and is moved at the next beat. Meanwhile
nobody can take it, since claims and recoveries pass over locked rows.
{%- endif %}
Table access order: {{ table_name ~ (", " ~ queue ~ "_lease" if beside) if role.lease_until else queue ~ "_lease" }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, items_ json, lease_ms_ integer DEFAULT NULL
)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
{%- if beside %}
DECLARE
    now_ timestamptz;
{%- if lease_sliding %}
    held_ boolean[];
{%- endif %}
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["lease"], attempts=false) }}
{{- check.takes(procedure, takes.renew) }}
{%- if beside %}
{%- if lease_sliding %}
{%- set of_table = role.lease_until %}
{%- include "part/hold_beside.sql" %}
{%- endif %}
    now_ := clock_timestamp();
{%- endif %}
{%- if beside or lease_sliding %}

    RETURN QUERY
    WITH item AS MATERIALIZED (
{{- items() }}
        ORDER BY {{ m.list("key_") }}
    ),
    judged AS MATERIALIZED (
        SELECT
            i.*,
            {{ m.seeks("v.item_seek_", "seek_") }}v.item_token,
            v.item_attempt, v.item_status,
            {{ answer() }} AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", asked, true, "FOR NO KEY UPDATE SKIP LOCKED") | indent(12) }}
        ) AS v ON TRUE
    )
{%- if not beside %},

    /* Once they are locked, one time for all of them: what was claimed together runs out together. */
    every AS MATERIALIZED (
        SELECT clock_timestamp(){{ " + " ~ m.interval_ms("lease_ms_") ~ " AS until" if lease_sliding else " AS now" }}, BOOL_AND(j.item_status IS NOT NULL) AS held
        FROM judged AS j
    )
{%- endif %}
{%- if lease_sliding %}
{%- set until = "now_ + " ~ m.interval_ms("lease_ms_") if beside else "e.until" %}
{%- if role.lease_until %},

    shown AS (
        UPDATE {{ table }} AS q
        SET {{ role.lease_until }} = {{ until }}
        FROM judged AS j
{{- "\n        CROSS JOIN every AS e" if not beside }}
        WHERE
            {{ m.at_key("j.key_") }}
            AND j.answer = 'OK'{{ " AND held_[j.ordinal + 1]" if beside }}
    )
{%- endif %}
{%- if beside %},

    renewed AS (
        UPDATE {{ object(queue ~ "_lease") }} AS s
        SET lease_until = {{ until }}
        FROM judged AS j
        WHERE
            {{ m.lease_at_key("j.key_") }}
            AND j.answer = 'OK' AND held_[j.ordinal + 1]
    )
{%- endif %}
{%- endif %}

    SELECT
        j.answer, j.ordinal, NULL::bigint,
        {{ m.key_text("j.key_") }},
        j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
{{- "\n    INNER JOIN every AS e ON e.held" if not beside }}
    ORDER BY j.ordinal;
{%- endif %}
{%- if not beside %}
{%- if lease_sliding %}
    IF FOUND THEN RETURN;
    END IF;
    /* Some are not there, or somebody has them locked: all of them as they are seen by all. */
{%- endif %}
    RETURN QUERY
    SELECT
        {{ answer() }},
        i.ordinal, NULL::bigint,
        {{ m.key_text("i.key_") }},
        v.item_token, v.item_attempt, v.item_status
    FROM (
{{- items() | indent(4) }}
    ) AS i
    LEFT JOIN LATERAL (
        {{ m.found("i.key_", asked, true, "") | indent(8) }}
    ) AS v ON TRUE
    ORDER BY i.ordinal;
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, json, integer) FROM public;
{% endfilter %}
