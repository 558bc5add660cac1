{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- if progress %}
{%- set procedure = "progress_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set asked = ["status", "token", "attempt", "owner", "started_at"] -%}
{#- The key as the table of the reports has it. -#}
{%- macro kept() %}{{ "enqueued_at" if own else m.list("key_") }}{% endmacro -%}
{%- macro answer(v) -%}
CASE
                WHEN ({{ v }}.item_status = 'Processing' AND {{ v }}.item_owner = worker_ AND {{ v }}.item_attempt = i.attempt{{ " AND " ~ v ~ ".item_has_lease" if beside }}) IS NOT TRUE
                    THEN 'LEASE_LOST'
                WHEN {{ v }}.item_token = i.token THEN 'OK'
                ELSE 'CONFLICT'
            END
{%- endmacro -%}
{% filter made("TABLE", queue ~ "_progress") %}
/*
How far the items in work are, as their workers report it: a row for each that has ever reported, which goes with its item. It is of the
attempt that began at started_at; one that began later has reported nothing yet. No index is on what changes, and pages have room, so that
a report stays on its page.
*/
{%- if own %}
CREATE TABLE IF NOT EXISTS {{ object(queue ~ "_progress") }} (
    enqueued_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    percent smallint NULL, text text NULL, reported_at timestamptz NOT NULL,
    CONSTRAINT {{ queue }}_progress_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT progress_is_{{ queue }} FOREIGN KEY (enqueued_at) REFERENCES {{ table }} (enqueued_at) ON DELETE CASCADE
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{%- else %}
CREATE TABLE IF NOT EXISTS {{ object(queue ~ "_progress") }}
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0) AS
SELECT
{%- for column in key %}
    q.{{ column.quoted }} AS key_{{ loop.index }},
{%- endfor %}
    NULL::timestamptz AS started_at, NULL::smallint AS percent, NULL::text AS text, NULL::timestamptz AS reported_at
FROM {{ table }} AS q
WITH NO DATA;
{%- endif %}
{% endfilter %}
{%- if not own %}
{% filter statement %}
{%- if beside %}
/*
A row goes when the one beside its item does. The table {{ table_name }} itself gets no foreign key: that would add triggers to
it, and refuse a TRUNCATE.
*/
{%- endif %}
DO $$
DECLARE
    made_ CONSTANT name[] := ARRAY(
        SELECT c.conname FROM pg_catalog.pg_constraint AS c WHERE c.conrelid = {{ text(object(queue ~ "_progress")) }}::regclass
    );
BEGIN
    IF '{{ queue }}_progress_pk' <> ALL (made_) THEN
        ALTER TABLE {{ object(queue ~ "_progress") }} ADD CONSTRAINT {{ queue }}_progress_pk PRIMARY KEY ({{ m.list("key_") }});
    END IF;
{%- if beside %}
    IF 'progress_is_{{ queue }}' <> ALL (made_) THEN
        /* Those of a time without rows beside. */
        DELETE FROM {{ object(queue ~ "_progress") }};
        ALTER TABLE {{ object(queue ~ "_progress") }} ADD CONSTRAINT progress_is_{{ queue }}
        FOREIGN KEY ({{ m.list("key_") }}) REFERENCES {{ object(queue ~ "_lease") }} ({{ m.list("key_") }}) ON DELETE CASCADE;
    END IF;
{%- endif %}
END;
$$;
{% endfilter %}
{%- endif %}
{% filter made("FUNCTION", procedure) %}
/*
Keep how far a worker's items are. items_ is a JSON array of objects with key, token and attempt, and percent (0 to 100; one below is none)
or text (cut after 200 characters) or both: what is left out becomes NULL. Answers OK, LEASE_LOST, CONFLICT (the token is another) or
NOT_FOUND, one row each. {{ "The row beside the item" if beside else "The row of the item" }} is locked and stays as it is, its token with it.
{%- if beside %} That of {{ table_name }} is only read.{% endif %}
It waits for nobody. OK without a status is an item whose row somebody holds: nothing was written, ask again later.
Table access order: {{ queue ~ "_lease" if beside else table_name }}, in the order of the keys; {{ queue }}_progress.
*/
CREATE OR REPLACE FUNCTION {{ function }}(worker_ text, items_ json)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
{%- if beside %}
DECLARE
    held_ boolean[];
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- check.checks(procedure, ["worker"]) }}
{{- check.takes(procedure, takes.progress) }}
{%- if beside %}
{%- set of_table = false %}
{%- include "part/hold_beside.sql" %}

{%- endif %}
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal,
{{- m.key_read("i.key") }},
            {{ m.time_read("i.token") }} AS token, i.attempt, i.percent, i.text
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (key {{ m.key_given() }}, token {{ m.time_given() }}, attempt integer, percent integer, text text)
            ) WITH ORDINALITY AS i (key, token, attempt, percent, text, position)
        ORDER BY {{ m.list("key_") }}
    ),
    locked AS MATERIALIZED (
        SELECT
            i.*,
            v.item_token, v.item_attempt, v.item_status, v.item_started_at,
            {{ "COALESCE(held_[i.ordinal + 1], FALSE)" if beside else "v.item_status IS NOT NULL" }} AS is_locked,
            {{ answer("v") }} AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", asked, true, "FOR NO KEY UPDATE SKIP LOCKED") | indent(12) }}
        ) AS v ON TRUE
    ),
    written AS (
        INSERT INTO {{ object(queue ~ "_progress") }} AS p ({{ kept() }}, started_at, percent, text, reported_at)
        SELECT DISTINCT ON ({{ m.list("k.key_") }})
            {{ m.list("k.key_") }}, k.item_started_at, CASE WHEN k.percent >= 0 THEN LEAST(k.percent, 100) END, LEFT(k.text, 200),
            clock_timestamp()
        FROM locked AS k
        WHERE k.answer = 'OK' AND k.is_locked
        ORDER BY {{ m.list("k.key_") }}, k.ordinal DESC
        ON CONFLICT ({{ kept() }}) DO UPDATE
        SET started_at = excluded.started_at, percent = excluded.percent, text = excluded.text, reported_at = excluded.reported_at
    )

    SELECT
        CASE
            WHEN i.is_locked THEN i.answer
            /* It is not there, or somebody has it locked: as it is seen by all. */
            WHEN {{ "i" if beside else "v" }}.item_status IS NULL THEN 'NOT_FOUND'
            ELSE {{ "i.answer" if beside else answer("v") }}
        END,
        i.ordinal, NULL::bigint,
        {{ m.key_text("i.key_") }},
{%- if beside %}
        i.item_token, i.item_attempt, CASE WHEN i.is_locked THEN i.item_status END
    FROM locked AS i
{%- else %}
        COALESCE(i.item_token, v.item_token), COALESCE(i.item_attempt, v.item_attempt), i.item_status
    FROM locked AS i
    LEFT JOIN LATERAL (
        {{ m.found("i.key_", asked, true, "") | indent(8) }}
            AND i.item_status IS NULL
    ) AS v ON TRUE
{%- endif %}
    ORDER BY i.ordinal;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, json) FROM public;
{% endfilter %}
{%- set procedure = "progress_" ~ queue -%}
{% filter made("FUNCTION", procedure) %}
/*
How far items are, by the last report of the attempt that began last: keys_ is a JSON array of at most 1,000 keys; those that have
reported nothing have no row. It changes nothing and locks nothing.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, {{ queue }}_progress.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(keys_ json)
RETURNS TABLE (key {{ m.key_type() }}, percent integer, text text, reported_at timestamptz)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
BEGIN
{%- include "part/local_time.sql" %}
    IF (CASE json_typeof(keys_) WHEN 'array' THEN json_array_length(keys_) <= 1000 END) IS NOT TRUE THEN
        RAISE EXCEPTION '{{ procedure }}: keys_ must be a JSON array of at most 1000 keys' USING ERRCODE = 'RP021';
    END IF;
    RETURN QUERY
    SELECT {{ m.key_text("k.key_") }}, p.percent::integer, p.text, p.reported_at
    FROM (
        SELECT DISTINCT
{{- m.key_read(m.key_from_text("j.value")) }}
        FROM json_array_elements_text(keys_) AS j (value)
    ) AS k
    INNER JOIN LATERAL (
        {{ m.found("k.key_", ["started_at"], true, "") | indent(8) }}
    ) AS v ON TRUE
    INNER JOIN {{ object(queue ~ "_progress") }} AS p
        ON
            {{ "p.enqueued_at BETWEEN k.key_1 AND k.key_1" if own else m.progress_at_key("k.key_") }}
            AND p.started_at = v.item_started_at
    ORDER BY {{ m.list("k.key_") }};
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(json) FROM public;
{% endfilter %}
{%- endif %}
