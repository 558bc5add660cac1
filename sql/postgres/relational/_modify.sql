    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
            i.token,
            COALESCE(i.attempt, 0) AS attempt,
            i.status,
            i.step,
            i.response,
            i.error,
            COALESCE(i.due, now_ + i.delay_ms * interval '1 millisecond') AS scheduled_for,
            COALESCE(i.release, FALSE) AS release,
            ROW_NUMBER() OVER (PARTITION BY i.key ORDER BY i.position) AS occurrence
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (
                    key timestamptz, token timestamptz, attempt integer, status text, step text, response text,
                    error text, due timestamptz, delay_ms bigint, release boolean
                )
            ) WITH ORDINALITY AS i (
                key, token, attempt, status, step, response, error, due, delay_ms, release, position
            )
        ORDER BY
            i.key,
            i.position
    ),

    /*
    Lock the items, in the order of their keys so that two calls never wait for each other, and decide each one's
    answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is the token
    (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still counts while
    nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.ordinal,
            i.key,
            i.status AS asked,
            i.step,
            i.response,
            i.error,
            i.scheduled_for,
            q.status::text AS status_now,
            q.updated_at AS token_now,
            q.attempt_num AS attempt_now,
            (q.status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN q.enqueued_at IS NULL THEN 'NOT_FOUND'
                WHEN
                    i.attempt > 0
                    AND (
                        q.status <> 'Processing'
                        OR q.lease_owner IS DISTINCT FROM worker_
                        OR q.attempt_num <> i.attempt
                    )
                    THEN 'LEASE_LOST'
                WHEN i.token <> q.updated_at THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                WHEN t.to_status IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.response IS NOT NULL OR i.error IS NOT NULL)
                    AND NOT {{ object("queue_is_editable_fn") }}(q.status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT p.enqueued_at, p.status, p.updated_at, p.attempt_num, p.lease_owner
            FROM {{ object(queue) }} AS p
{%- if own_types_only %}
            WHERE
                p.enqueued_at = i.key
{%- set own = "p" %}
                AND {% filter indent(12) %}{% include "relational/_own_type.sql" %}{% endfilter %}
{%- else %}
            WHERE p.enqueued_at = i.key
{%- endif %}
            FOR NO KEY UPDATE
        ) AS q
            ON TRUE
        LEFT JOIN {{ object("queue_transition") }} AS t
            ON t.from_status = q.status AND t.to_status = i.status
    ),

    decided AS MATERIALIZED (
        SELECT
            j.ordinal,
            j.key,
            j.answer,
            j.asked,
            j.step,
            j.response,
            j.error,
            j.scheduled_for,
            CASE
                WHEN j.answer <> 'OK' THEN j.status_now
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.status_now = 'Processing' AND j.asked = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN j.released THEN 'Pending'
                WHEN j.attempt_now >= max_attempts_ AND j.asked <> 'Completed' THEN 'Failed'
                ELSE j.asked
            END AS status,
            CASE
                WHEN j.answer <> 'OK' THEN j.token_now
                ELSE GREATEST(now_, j.token_now + interval '1 microsecond')
            END AS token,
            CASE
                WHEN j.answer <> 'OK' THEN j.attempt_now
                WHEN j.released THEN j.attempt_now - 1
                /* Processing from another state is a claim of this one item. */
                WHEN j.status_now <> 'Processing' AND j.asked = 'Processing' AND j.attempt_now < max_attempts_
                    THEN j.attempt_now + 1
                ELSE j.attempt_now
            END AS attempt_num
        FROM judged AS j
    ),

    changed AS (
        UPDATE {{ object(queue) }} AS q
        SET
            status = d.status,
            updated_at = d.token,
            attempt_num = d.attempt_num,
            step = COALESCE(d.step, q.step),
            response = COALESCE(d.response, q.response),
            error = CASE
                WHEN d.error IS NOT NULL THEN d.error
                WHEN d.status = 'Failed' AND d.asked <> 'Failed'
                    THEN format(
                        'Attempts are spent: %s of %s; asked for %s.', q.attempt_num, max_attempts_, d.asked
                    )
                /* What went wrong before is over. */
                WHEN d.status = 'Completed' THEN ''
                ELSE q.error
            END,
{%- if backoff %}
            scheduled_for = COALESCE(
                d.scheduled_for,
{% filter indent(16, true) %}{% include "relational/_backoff.sql" %}{% endfilter %},
                q.scheduled_for
            ),
{%- else %}
            scheduled_for = COALESCE(d.scheduled_for, q.scheduled_for),
{%- endif %}
            started_at = CASE WHEN d.status = 'Processing' AND q.status <> 'Processing' THEN now_ ELSE q.started_at END,
            duration = CASE
                WHEN {{ object("queue_is_finished_fn") }}(d.status)
                    THEN (EXTRACT(EPOCH FROM now_ - q.started_at) * 1000)::bigint
                ELSE q.duration
            END,
            lease_owner = CASE
                WHEN d.status = 'Processing' AND q.status <> 'Processing' THEN worker_
                ELSE q.lease_owner
            END,
{%- if lease_sliding %}
            lease_until = CASE WHEN d.status = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond' END
{%- else %}
            /* The lease is fixed: a step goes on with what is left of it. */
            lease_until = CASE
                WHEN d.status = 'Processing' AND q.status = 'Processing' THEN q.lease_until
                WHEN d.status = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond'
            END
{%- endif %}
        FROM decided AS d
        WHERE
            q.enqueued_at BETWEEN d.key AND d.key
            AND d.answer = 'OK'
{%- if completion != "keep" %}
            AND d.status <> 'Completed'
{%- endif %}
    )
{%- if completion != "keep" %},
{% include "relational/_complete.sql" %}
{%- endif -%}

