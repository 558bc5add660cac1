    WITH given AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %},
            {{ object("queue_time_fn") }}(i.token) AS token,
            COALESCE(i.attempt, 0) AS attempt,
            i.status,
            i.step,
            i.response,
            i.error,
            COALESCE(
                {{ object("queue_time_fn") }}(i.due), now_ + i.delay_ms * interval '1 millisecond'
            ) AS due_at,
            COALESCE(i.release, FALSE) AS release,
            i.position
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (
                    key text, token text, attempt integer, status text, step text, response text, error text, due text,
                    delay_ms bigint, release boolean
                )
            ) WITH ORDINALITY AS i (
                key, token, attempt, status, step, response, error, due, delay_ms, release, position
            )
    ),

    item AS MATERIALIZED (
        SELECT
            g.*,
            ROW_NUMBER() OVER (PARTITION BY {% set of = "g.key_" %}{% include "adopted/_key_list.sql" %} ORDER BY g.position) AS occurrence
        FROM given AS g
    ),

    /*
    Decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is
    the token (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still
    counts while nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.*,
            {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}v.item_status AS was,
            v.item_token,
            v.item_attempt,
            v.item_step,
            v.item_response,
            v.item_error,
            v.item_started_at,
            v.item_duration,
            v.item_due_at,
            v.item_owner,
            v.item_lease_until,
            (v.item_status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
{%- if own_types_only %}
                /* What the login may not see is not there for it. */
                WHEN NOT {% set kind = "v.item_type" %}{% include "adopted/_type_access.sql" %} THEN 'NOT_FOUND'
{%- endif %}
                WHEN
                    i.attempt > 0
                    AND (
                        v.item_status <> 'Processing'
                        OR v.item_owner IS DISTINCT FROM worker_
                        OR v.item_attempt <> i.attempt
                    )
                    THEN 'LEASE_LOST'
                WHEN i.token <> v.item_token THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                WHEN t.to_status IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.response IS NOT NULL OR i.error IS NOT NULL)
                    AND NOT {{ object("queue_is_editable_fn") }}(v.item_status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS verdict
        FROM item AS i
        LEFT JOIN LATERAL (
            {% set of = "i.key_" %}{% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        LEFT JOIN {{ object("queue_transition") }} AS t
            ON t.from_status = v.item_status AND t.to_status = i.status
    ),

    ruled AS MATERIALIZED (
        SELECT
            j.*,
            CASE
                WHEN j.verdict <> 'OK' THEN j.was
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.was = 'Processing' AND j.status = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN NOT j.released AND j.item_attempt >= max_attempts_ AND j.status <> 'Completed' THEN 'Failed'
{%- if not role.due %}
                WHEN j.status = 'Pending' AND j.due_at > now_ THEN 'Error'
{%- endif %}
                ELSE j.status
            END AS becomes
        FROM judged AS j
    ),

    decided AS MATERIALIZED (
        SELECT
            r.ordinal,
            r.key,
            {% set of = "r.key_" %}{% include "adopted/_key_list.sql" %},
            {% for column in seek %}r.seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}r.verdict AS answer,
            r.becomes AS status,
            CASE
                WHEN r.verdict <> 'OK' THEN r.item_token
                ELSE GREATEST(now_, r.item_token + interval '1 microsecond')
            END AS token,
            CASE
                WHEN r.verdict <> 'OK' THEN r.item_attempt
                WHEN r.released THEN r.item_attempt - 1
                /* Processing from another state is a claim of this one item. */
                WHEN r.was <> 'Processing' AND r.becomes = 'Processing' THEN r.item_attempt + 1
                ELSE r.item_attempt
            END AS attempt_num,
            n.step,
            n.response,
            n.error,
            CASE WHEN n.enters THEN now_ ELSE r.item_started_at END AS started_at,
            {{ "COALESCE(" ~ run_value ~ ", " if run_value else "" }}CASE WHEN n.enters THEN now_ ELSE r.item_started_at END{{ ")" if run_value }} AS run_started_at,
            CASE
                WHEN n.finishes THEN (EXTRACT(EPOCH FROM now_ - r.item_started_at) * 1000)::bigint
                ELSE r.item_duration
            END AS duration,
            COALESCE(
                r.due_at,
                CASE
                    WHEN r.becomes = 'Error'
                        THEN {% if backoff %}now_ + interval '1 millisecond' * ROUND(
{% include "adopted/_backoff.sql" %}
                        )
{%- elif role.due and not parks_errors %}r.item_due_at
{%- else %}now_{% endif %}
                END,
                r.item_due_at
            ) AS due_at,
            CASE WHEN n.enters THEN worker_ ELSE r.item_owner END AS owner,
            CASE
                WHEN r.becomes = 'Processing'
                    THEN {% if not lease_sliding %}CASE WHEN n.enters THEN now_ + lease_ms_ * interval '1 millisecond' ELSE r.item_lease_until END
{%- else %}now_ + lease_ms_ * interval '1 millisecond'{% endif %}
            END AS lease_until,
            NULL::timestamptz AS died_at,
            n.enters,
            n.finishes,
            FALSE AS reopens,
{%- if completion == "keep" %}
            /* Completed work leaves a row behind only for what the table has no column for. */
            r.becomes <> 'Completed'
            {%- if not role.step %}
            OR n.step IS NOT NULL
            {%- endif %}
            {%- if not role.response %}
            OR n.response IS NOT NULL
            {%- endif %}
            {%- if not role.error %}
            OR n.error IS NOT NULL
            {%- endif %} AS stays
{%- else %}
            r.becomes <> 'Completed' AS stays
{%- endif %}
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.verdict = 'OK' AND r.was <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.verdict = 'OK' AND {{ object("queue_is_finished_fn") }}(r.becomes)) AS finishes,
                COALESCE(r.step, r.item_step) AS step,
                COALESCE(r.response, r.item_response) AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format(
                            'Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status
                        )
                    /* What went wrong before is over. */
                    WHEN r.becomes = 'Completed' THEN NULL
                    ELSE r.item_error
                END AS error
        ) AS n
    ),

{% include "adopted/_write.sql" %},
{%- if completion == "delete" %}

    /* Completed items leave the table. */
    removed AS (
        DELETE FROM {{ table }} AS q
        USING decided AS d
        WHERE
            {% set of = "d." -%}{% include "adopted/_at_found.sql" %}
            AND d.answer = 'OK'
            AND d.status = 'Completed'
        RETURNING d.*
    ),
{%- endif %}

    dropped AS (
        DELETE FROM {{ object(queue ~ "_lease") }} AS s
        USING decided AS d
        WHERE
            {% set of = "d.key_" -%}{% include "adopted/_lease_at_key.sql" %}
            AND d.answer = 'OK'
            AND NOT d.stays
    ),

    /* What was to change and did not, a trigger of the table holds back. */
    told AS (
        SELECT DISTINCT ON (a.ordinal) a.ordinal, a.answer, a.key, a.token, a.attempt_num, a.status
        FROM (
            SELECT
                d.ordinal, CASE WHEN d.answer = 'OK' THEN 'CONFLICT' ELSE d.answer END AS answer, d.key, d.token,
                d.attempt_num, d.status, 2 AS rank
            FROM decided AS d
            UNION ALL
            SELECT c.ordinal, c.answer, c.key, c.{{ "written_token" if role.token else "token" }}, c.attempt_num, c.status, 1
            FROM changed AS c
{%- if completion == "delete" %}
            UNION ALL
            SELECT r.ordinal, r.answer, r.key, r.token, r.attempt_num, r.status, 1
            FROM removed AS r
{%- endif %}
        ) AS a
        ORDER BY
            a.ordinal,
            a.rank
    )

    SELECT json_agg(t ORDER BY t.ordinal)
    INTO answers_
    FROM told AS t;
