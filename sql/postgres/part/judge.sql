{#-
The judge: what becomes of each item that is settled, as `decided`. NOT_FOUND, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION, OK.
#}
    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal,
{{- m.key_read("i.key") }},
            {{ m.time_read("i.token") }} AS token,
            COALESCE(i.attempt, 0) AS attempt, i.status, i.step, i.response, i.error,
            COALESCE({{ m.finite(m.time_read("i.due")) }}, now_ + {{ m.interval_ms("i.delay_ms") }}) AS due_at,
            COALESCE(i.release, FALSE) AS release, i.set AS new_values, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (
            key {{ m.key_given() }}, token {{ m.time_given() }}, attempt integer, status text, step text, response text,
            error text, due {{ m.time_given() }}, delay_ms bigint, release boolean, set json
        )) WITH ORDINALITY AS i (key, token, attempt, status, step, response, error, due, delay_ms, release, set, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT
            g.*,
            ROW_NUMBER() OVER (PARTITION BY {{ m.list("g.key_") }} ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY {{ m.list("g.key_") }}, g.position
    ),
    /*
    Decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is
    the token (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still
    counts while nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.*, v.*, COALESCE(i.status, v.item_status) AS asked, (v.item_status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN i.attempt > 0 AND {{ m.holds("i.attempt") }} IS NOT TRUE THEN 'LEASE_LOST'
                WHEN i.token <> v.item_token THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                /* The legal changes are read once for all items. An item that waits stays as it is where none is asked for: an edit. */
                WHEN
                    ((i.status IS NULL AND v.item_status IN ('Pending', 'Error', 'Paused')) OR v.item_status || ' ' || i.status = ANY (ARRAY(
                        SELECT t.from_status || ' ' || t.to_status FROM {{ object("queue_transition") }} AS t
                    ))) IS NOT TRUE
                    THEN 'ILLEGAL_TRANSITION'
{%- if steps %}
                /* A step that the queue has not. */
                WHEN i.step NOT IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}) THEN 'ILLEGAL_TRANSITION'
{%- endif %}
                /* Response, error and values do not go to an item that its status closes to workers, but for an edit and a cancel. */
                WHEN
                    i.status <> 'Cancelled' AND (i.response IS NOT NULL OR i.error IS NOT NULL OR i.new_values IS NOT NULL)
                    AND NOT {{ object("queue_is_editable_fn") }}(v.item_status)
                    THEN 'ILLEGAL_TRANSITION'
{%- if sets_values %}
{%- for subtype in subtypes %}
                /* Only calls that count: an item that is not the worker's any more gets that answer, whatever its values. */
                WHEN
                    json_typeof(i.new_values -> {{ text(subtype.name) }}) = 'object'
                    AND NOT EXISTS (
                        SELECT 1
                        FROM {{ subtype.table }} AS u
                        WHERE {{ m.subtype_at_key("i.key_") }}
                    )
                    THEN {{ object("queue_refuse_fn") }}({{ text(procedure ~ ": an item that is to get values of " ~ subtype.name ~ " was enqueued without it.") }})
{%- endfor %}
{%- endif %}
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", ["status", "token", "attempt", "owner", "lease_until", "due_at"] + (["started_at", "step"] if attempt_history else []), true) | indent(12) }}
        ) AS v ON TRUE
    ),
    ruled AS (
        SELECT
            j.*,
            CASE
                WHEN j.answer <> 'OK' THEN j.item_status
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.item_status = 'Processing' AND j.status = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN NOT j.released AND j.item_attempt >= max_attempts_ AND j.status <> 'Completed' THEN 'Failed'
{%- if not role.due %}
                WHEN j.asked = 'Pending' AND j.due_at > now_ THEN 'Error'
{%- endif %}
                ELSE j.asked
            END AS becomes
        FROM judged AS j
        /* So that each gets one answer. */
        OFFSET 0
    ),
    decided AS MATERIALIZED (
        SELECT
            r.ordinal,
            {{ m.list("r.key_") }},
            {{ m.seeks("r.item_seek_", "seek_") }}r.answer,
            r.becomes AS status, r.new_values,
            CASE WHEN r.answer <> 'OK' THEN r.item_token ELSE {{ m.later("r.item_token") }} END AS token,
            CASE
                WHEN r.answer <> 'OK' THEN r.item_attempt
                WHEN r.released THEN r.item_attempt - 1
                /* Processing from another state is a claim of this one item. */
                WHEN r.item_status <> 'Processing' AND r.becomes = 'Processing' THEN r.item_attempt + 1
                ELSE r.item_attempt
            END AS attempt_num,
            n.step, n.response, n.error,
            COALESCE(
                r.due_at,
{%- if backoff %}
                CASE
                    WHEN r.becomes = 'Error' AND r.item_status <> 'Error' THEN now_ + {{ object("queue_backoff_fn") }}(
                        r.item_attempt, {{ backoff.first_ms }}, {{ backoff.factor_percent }}, {{ backoff.cap_ms }}, {{ backoff.jitter_percent }}
                    )
                END,
{%- elif not own and (not role.due or (beside and parks_errors)) %}
                CASE WHEN r.becomes = 'Error' AND r.item_status <> 'Error' THEN now_ END,
{%- endif %}
                r.item_due_at
            ) AS due_at,
            CASE
                WHEN r.becomes = 'Processing' THEN {% if lease_sliding %}now_ + {{ m.interval_ms("lease_ms_") }}
                    {#- The lease is fixed: a step goes on with what is left of it. -#}
                    {% else %}CASE WHEN n.enters THEN now_ + {{ m.interval_ms("lease_ms_") }} ELSE r.item_lease_until END{% endif %}
            END AS lease_until,
{%- if not own %}
            CASE WHEN n.enters THEN now_ ELSE r.item_started_at END AS started_at,
            {{ "COALESCE(started_at_, " if run_time }}CASE WHEN n.enters THEN now_ ELSE r.item_started_at END{{ ")" if run_time }} AS run_started_at,
            CASE WHEN n.finishes THEN {{ m.ms("r.item_started_at", "now_") }} ELSE r.item_duration END AS duration,
            CASE WHEN n.enters THEN worker_ ELSE r.item_owner END AS owner, NULL::timestamptz AS died_at,
            FALSE AS reopens,
            /* Completed work leaves a row beside only for what the table has no column for. */
            r.becomes <> 'Completed'
{%- if completion == "keep" %}
            {%- if not role.step %} OR n.step IS NOT NULL{% endif %}
            {%- if not role.response %} OR n.response IS NOT NULL{% endif %}
            {%- if not role.error %} OR n.error IS NOT NULL{% endif %}
{%- endif %} AS stays,
{%- endif %}
{%- if attempt_history %}
            (
                r.answer = 'OK' AND NOT r.released AND r.item_status = 'Processing' AND r.becomes <> 'Processing'
            ) AS ended,
            r.item_attempt AS ended_attempt, r.item_owner AS ended_owner, r.item_started_at AS ended_started_at,
            COALESCE(r.step, r.item_step) AS ended_step, r.response AS ended_response,
            CASE WHEN r.error IS NOT NULL OR (r.becomes = 'Failed' AND r.status <> 'Failed') THEN n.error END AS ended_error,
{%- endif %}
            n.enters, n.finishes
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.answer = 'OK' AND r.item_status <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.answer = 'OK' AND {{ object("queue_is_finished_fn") }}(r.becomes)) AS finishes,
                {{ "r.step" if own else "COALESCE(r.step, r.item_step)" }} AS step,
                {{ "r.response" if own else "COALESCE(r.response, r.item_response)" }} AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format(
                            'Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status
                        )
                    /* Earlier errors are over. */
                    WHEN r.becomes = 'Completed' THEN {{ "''" if own else "NULL" }}
{%- if not own %}
                    ELSE r.item_error
{%- endif %}
                END AS error
        ) AS n
    ),

