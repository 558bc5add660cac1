{%- if after %}
{%- import "macro/item.sql" as m -%}
{%- import "macro/index.sql" as index_of -%}
{%- set attributes = "LANGUAGE plpgsql VOLATILE SECURITY INVOKER" -%}
{% filter made("TABLE", queue ~ "_after") %}
/*
The items that wait for others of the queue, a row for each of those: a set, of which no row is missing and none counts twice. It stays
when the wait is over, as long as its item.
*/
CREATE TABLE IF NOT EXISTS {{ object(queue ~ "_after") }} (
    item timestamptz NOT NULL, parent timestamptz NOT NULL,
    on_failed text NOT NULL, /* when the parent ends in another way than Completed: fail, run or wait */
    due_at timestamptz NOT NULL, /* the time of the item when it waits no more */
    outcome text NULL, /* how the parent ended, or Dropped; NULL: it is waited for */
    PRIMARY KEY (item, parent)
);
{% endfilter %}
{% call index_of.create(queue ~ "_after_parent", queue ~ "_after", [column("parent")]) %}
/* The end of an item asks here for those that wait for it. */
{%- endcall %}
{% filter statement %}
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = {{ literal(queue) }}::regclass AND t.tgname = '{{ queue }}_ended'
    )
    THEN
        CREATE TRIGGER {{ queue }}_ended AFTER UPDATE ON {{ table }}
        REFERENCING NEW TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION {{ object("ended_" ~ queue) }}();
        CREATE TRIGGER {{ queue }}_gone AFTER DELETE ON {{ table }}
        REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION {{ object("ended_" ~ queue) }}();
    END IF;
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "release_" ~ queue) %}
/*
The items keys_ have ended in states_: those that waited for them become due when nothing is left to wait for, or Failed, as they say
(on_failed). Those that wait for the failed ones are next, and so on. With gone_ they have left the table, so that none of them will ever
be started again: who would wait for that fails. Called by ended_{{ queue }} and wait_{{ queue }}, which hold the
items keys_.
An item is locked before its rows here are looked at: of two parents that end at once, the second one finds what the first has written.
Table access order: {{ table_name }}, in the order of the keys, parents before those that wait for them; {{ queue }}_after.
*/
CREATE OR REPLACE FUNCTION {{ object("release_" ~ queue) }}(keys_ timestamptz[], states_ text[], gone_ boolean) RETURNS void
{{ attributes }}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    waiting_ timestamptz[];
    due_ integer := 0;
    became_due_ boolean := FALSE;
BEGIN
    WHILE CARDINALITY(keys_) > 0 LOOP
        /* An item that has ended waits for nothing any more. */
        UPDATE {{ object(queue ~ "_after") }} AS a
        SET outcome = 'Dropped'
        WHERE a.item = ANY(keys_) AND a.outcome IS NULL;

        SELECT ARRAY_AGG(w.key)
        INTO waiting_
        FROM (
            SELECT q.enqueued_at AS key
            FROM (
                SELECT DISTINCT a.item
                FROM {{ object(queue ~ "_after") }} AS a
                WHERE a.parent = ANY(keys_) AND a.outcome IS NULL
            ) AS k
            INNER JOIN {{ table }} AS q
                ON q.enqueued_at BETWEEN k.item AND k.item
            ORDER BY q.enqueued_at
            FOR NO KEY UPDATE OF q
        ) AS w;
        EXIT WHEN waiting_ IS NULL;

        UPDATE {{ object(queue ~ "_after") }} AS a
        SET outcome = e.state
        FROM UNNEST(keys_, states_) AS e (key, state)
        WHERE a.parent = e.key AND a.outcome IS NULL AND (e.state = 'Completed' OR a.on_failed <> 'wait' OR gone_);

        /* Not one that somebody has made due, or that has ended. */
        UPDATE {{ table }} AS q
        SET scheduled_for = (SELECT MAX(a.due_at) FROM {{ object(queue ~ "_after") }} AS a WHERE a.item = q.enqueued_at)
        WHERE
            q.enqueued_at = ANY(waiting_) AND q.scheduled_for = {{ m.never() }}
            AND q.status IN ('Pending', 'Error', 'Paused')
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_after") }} AS a
                WHERE a.item = q.enqueued_at AND (a.outcome IS NULL OR (a.outcome <> 'Completed' AND a.on_failed <> 'run'))
            );
        GET DIAGNOSTICS due_ = ROW_COUNT;
        became_due_ := became_due_ OR due_ > 0;

        PERFORM set_config('readpast.releases', 'on', TRUE);
        WITH failed AS (
            UPDATE {{ table }} AS q
            SET
                status = 'Failed',
                error = (
                    SELECT 'It waited for ' || {{ object("queue_key_fn") }}(a.parent) || '0, which is ' || a.outcome || '.'
                    FROM {{ object(queue ~ "_after") }} AS a
                    WHERE a.item = q.enqueued_at AND a.outcome <> 'Completed' AND a.on_failed <> 'run'
                    ORDER BY a.parent
                    LIMIT 1
                ),
                updated_at = {{ m.later("q.updated_at") }}
            WHERE
                q.enqueued_at = ANY(waiting_) AND q.scheduled_for = {{ m.never() }}
                AND q.status IN ('Pending', 'Error', 'Paused')
                AND EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_after") }} AS a
                    WHERE a.item = q.enqueued_at AND a.outcome <> 'Completed' AND a.on_failed <> 'run'
                )
            RETURNING q.enqueued_at
        )
        SELECT ARRAY_AGG(f.enqueued_at), ARRAY_AGG('Failed'::text) INTO keys_, states_ FROM failed AS f;
        PERFORM set_config('readpast.releases', '', TRUE);
        gone_ := FALSE;
    END LOOP;
    IF became_due_ THEN
        PERFORM {{ object("queue_ring") }}('{{ queue }}')
        WHERE EXISTS (SELECT 1 FROM {{ object("queue_sleeper") }} AS z WHERE z.queue = '{{ queue }}');
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("release_" ~ queue) }}(timestamptz[], text[], boolean) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "wait_" ~ queue) %}
/*
New items wait for those that they name in after: a text is the key of an item that is there, a number the place of an earlier element
of the call, so that no item waits for itself. answers_ has the key of each element, as add_{{ queue }}_set_trx keeps it. Called by that, which has
put them in as never due.
{%- if completion == "keep" %} An item that is not there is an error.
{%- else %} An item that is not there is Completed, and has left the table.
{%- endif %}
Table access order: {{ table_name }}, in the order of the keys; {{ queue }}_after; then as release_{{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ object("wait_" ~ queue) }}(items_ json, answers_ json, now_ timestamptz) RETURNS void
{{ attributes }}
AS $$
#variable_conflict use_column
DECLARE
    wrong_ text;
    keys_ timestamptz[];
    states_ text[];
BEGIN
    SELECT FORMAT('item %s: "after" takes keys of items and places of earlier ones, not %s', i.position - 1, e.value)
    INTO wrong_
    FROM json_array_elements(items_) WITH ORDINALITY AS i (value, position)
    CROSS JOIN LATERAL (
        SELECT e.value
        FROM json_array_elements(CASE json_typeof(i.value -> 'after') WHEN 'array' THEN i.value -> 'after' ELSE '[]' END) AS e (value)
        UNION ALL
        SELECT i.value -> 'after'
        WHERE json_typeof(i.value -> 'after') NOT IN ('array', 'null')
    ) AS e
    WHERE
        CASE json_typeof(e.value)
            WHEN 'string' THEN FALSE
            WHEN 'number' THEN e.value::text !~ '^[0-9]{1,4}$' OR e.value::text::integer >= i.position - 1
            ELSE TRUE
        END
    LIMIT 1;
    IF wrong_ IS NOT NULL THEN
        RAISE EXCEPTION 'add_{{ queue }}: %.', wrong_ USING ERRCODE = 'RP021';
    END IF;

    /* They stay as they are until those that wait for them are written. */
    PERFORM q.enqueued_at
    FROM (
        SELECT DISTINCT (e.value #>> '{}')::timestamptz AS key
        FROM json_array_elements(items_) AS i (value)
        CROSS JOIN LATERAL json_array_elements(i.value -> 'after') AS e (value)
        WHERE json_typeof(i.value -> 'after') = 'array' AND json_typeof(e.value) = 'string'
    ) AS k
    INNER JOIN {{ table }} AS q
        ON q.enqueued_at BETWEEN k.key AND k.key
    ORDER BY q.enqueued_at
    FOR NO KEY UPDATE OF q;

    INSERT INTO {{ object(queue ~ "_after") }} (item, parent, on_failed, due_at)
    SELECT DISTINCT
        (answers_ -> (i.position - 1)::integer ->> 'key')::timestamptz,
        (CASE json_typeof(e.value) WHEN 'string' THEN e.value #>> '{}' ELSE answers_ -> (e.value::text)::integer ->> 'key' END)::timestamptz,
        COALESCE(i.on_failed, 'fail'),
        COALESCE({{ m.finite("i.due") }}, now_ + i.delay_ms * interval '1 millisecond', now_)
    FROM
        ROWS FROM (json_to_recordset(items_) AS (after json, on_failed text, due timestamptz, delay_ms bigint))
        WITH ORDINALITY AS i (after, on_failed, due, delay_ms, position)
    CROSS JOIN LATERAL json_array_elements(i.after) AS e (value)
    WHERE
        json_typeof(i.after) = 'array'
        AND NOT (answers_ -> (i.position - 1)::integer ->> 'duplicate')::boolean;

    /* Those that are over have their end seen at once. */
    SELECT ARRAY_AGG(p.parent), ARRAY_AGG(p.status)
    INTO keys_, states_
    FROM (
        SELECT DISTINCT a.parent, {{ "q.status::text" if completion == "keep" else "COALESCE(q.status::text, 'Completed')" }} AS status
        FROM json_to_recordset(answers_) AS k (key timestamptz)
        INNER JOIN {{ object(queue ~ "_after") }} AS a
            ON a.item = k.key AND a.outcome IS NULL
        LEFT JOIN {{ table }} AS q
            ON q.enqueued_at BETWEEN a.parent AND a.parent
        WHERE q.status IS NULL OR {{ object("queue_is_finished_fn") }}(q.status)
    ) AS p;
{%- if completion == "keep" %}
    IF ARRAY_POSITION(states_, NULL) IS NOT NULL THEN
        RAISE EXCEPTION
            'add_{{ queue }}: an item is to wait for %, and there is no such item.',
            {{ object("queue_key_fn") }}(keys_[ARRAY_POSITION(states_, NULL)]) || '0'
        USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
    PERFORM {{ object("release_" ~ queue) }}(keys_, states_, FALSE);
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("wait_" ~ queue) }}(json, json, timestamptz) FROM public;
{% endfilter %}
{%- set procedure = "waits_" ~ queue -%}
{% filter made("FUNCTION", procedure) %}
/*
The items for which an item waits or has waited, and those that wait or have waited for it (is_parent), at most 1,000 of each, with their
states; NULL: it is gone. outcome is NULL for what is waited for.
Table access order: {{ queue }}_after, {{ table_name }}.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(key_ text)
RETURNS TABLE (is_parent boolean, key timestamptz, status text, on_failed text, outcome text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT w.is_parent, w.key, q.status::text, w.on_failed, w.outcome
    FROM (
        (
            SELECT TRUE AS is_parent, a.parent AS key, a.on_failed, a.outcome
            FROM {{ object(queue ~ "_after") }} AS a
            WHERE a.item = key_::timestamptz
            ORDER BY a.parent
            LIMIT 1000
        )
        UNION ALL
        (
            SELECT FALSE, a.item, a.on_failed, a.outcome
            FROM {{ object(queue ~ "_after") }} AS a
            WHERE a.parent = key_::timestamptz
            ORDER BY a.item
            LIMIT 1000
        )
    ) AS w
    LEFT JOIN {{ table }} AS q
        ON q.enqueued_at = w.key
    ORDER BY w.is_parent DESC, w.key;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(text) FROM public;
{% endfilter %}
{%- endif %}
