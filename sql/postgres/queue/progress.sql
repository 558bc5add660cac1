{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- if progress %}
{%- set procedure = "progress_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set asked = ["status", "token", "attempt", "owner", "started_at"] -%}
{%- macro answer(v) -%}
CASE
                WHEN ({{ v }}.item_status = 'Processing' AND {{ v }}.item_owner = worker_ AND {{ v }}.item_attempt = i.attempt) IS NOT TRUE
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
CREATE TABLE IF NOT EXISTS {{ object(queue ~ "_progress") }} (
    enqueued_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    percent smallint NULL, text text NULL, reported_at timestamptz NOT NULL,
    CONSTRAINT {{ queue }}_progress_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT progress_is_{{ queue }} FOREIGN KEY (enqueued_at) REFERENCES {{ table }} (enqueued_at) ON DELETE CASCADE
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{% filter made("FUNCTION", procedure) %}
/*
Keep how far a worker's items are. items_ is a JSON array of objects with key, token and attempt, and percent (0 to 100; one below is none)
or text (cut after 200 characters) or both: what is left out becomes NULL. Answers OK, LEASE_LOST, CONFLICT (the token is another) or
NOT_FOUND, one row each. The row of the item is locked and stays as it is, its token with it.
It waits for nobody. OK without a status is an item whose row somebody holds: nothing was written, ask again later.
Table access order: {{ table_name }}, in the order of the keys; {{ queue }}_progress.
*/
CREATE OR REPLACE FUNCTION {{ function }}(worker_ text, items_ json)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
BEGIN
{{- check.checks(procedure, ["worker"]) }}
{{- check.takes(procedure, takes.progress) }}
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.token, i.attempt, i.percent, i.text
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (key timestamptz, token timestamptz, attempt integer, percent integer, text text)
            ) WITH ORDINALITY AS i (key, token, attempt, percent, text, position)
        ORDER BY i.key
    ),
    locked AS MATERIALIZED (
        SELECT
            i.*,
            v.item_token, v.item_attempt, v.item_status, v.item_started_at,
            {{ answer("v") }} AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", asked, true, "FOR NO KEY UPDATE SKIP LOCKED") }}
        ) AS v ON TRUE
    ),
    written AS (
        INSERT INTO {{ object(queue ~ "_progress") }} AS p (enqueued_at, started_at, percent, text, reported_at)
        SELECT DISTINCT ON (k.key_1)
            k.key_1, k.item_started_at, CASE WHEN k.percent >= 0 THEN LEAST(k.percent, 100) END, LEFT(k.text, 200),
            clock_timestamp()
        FROM locked AS k
        WHERE k.answer = 'OK' AND k.item_status IS NOT NULL
        ORDER BY k.key_1, k.ordinal DESC
        ON CONFLICT (enqueued_at) DO UPDATE
        SET started_at = excluded.started_at, percent = excluded.percent, text = excluded.text, reported_at = excluded.reported_at
    )

    SELECT
        CASE
            WHEN i.item_status IS NOT NULL THEN i.answer
            /* It is not there, or somebody has it locked: as it is seen by all. */
            WHEN v.item_status IS NULL THEN 'NOT_FOUND'
            ELSE {{ answer("v") }}
        END,
        i.ordinal, NULL::bigint, i.key_1, COALESCE(i.item_token, v.item_token), COALESCE(i.item_attempt, v.item_attempt), i.item_status
    FROM locked AS i
    LEFT JOIN LATERAL (
        {{ m.found("i.key_", asked, true, "") }}
            AND i.item_status IS NULL
    ) AS v ON TRUE
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
Table access order: {{ table_name }}, {{ queue }}_progress.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(keys_ json)
RETURNS TABLE (key timestamptz, percent integer, text text, reported_at timestamptz)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
BEGIN
    IF (CASE json_typeof(keys_) WHEN 'array' THEN json_array_length(keys_) <= 1000 END) IS NOT TRUE THEN
        RAISE EXCEPTION '{{ procedure }}: keys_ must be a JSON array of at most 1000 keys' USING ERRCODE = 'RP021';
    END IF;
    RETURN QUERY
    SELECT q.enqueued_at, p.percent::integer, p.text, p.reported_at
    FROM (SELECT DISTINCT j.value::timestamptz AS key_1 FROM json_array_elements_text(keys_) AS j (value)) AS k
    INNER JOIN {{ table }} AS q
        ON {{ m.at_key("k.key_") }}
    INNER JOIN {{ object(queue ~ "_progress") }} AS p
        ON p.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at AND p.started_at = q.started_at
{%- if own_types_only %}
    WHERE {{ m.type_seen("q." ~ role.kind) }}
{%- endif %}
    ORDER BY q.enqueued_at;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(json) FROM public;
{% endfilter %}
{%- endif %}
