{%- set procedure = "recover_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- set keys -%}{% for column in key %}key_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
{%- set foreign = role.started and not run_time and shows_claims -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. An item that its worker had claimed together with others gets its
attempt back, since nobody knows which of them was begun; whatever comes back is claimed alone next. The items of one
claim come back together: more than max_ of them, if need be. With worker_, everything that is in flight under this name counts,
whatever its lease. Claims do this too, so a queue with workers needs no other reaper.
{%- if foreign %} Items that were taken by
others than readpast count as well, once they are as old as a lease is long.
{%- endif %}
{%- if shows_errors %} What others have set to Error is
tried again, too; it gives no row here.
{%- endif %}
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    max_ integer DEFAULT 100, worker_ text DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    lease_ms_ integer;
    max_attempts_ integer;
{%- include "adopted/_key_variables.sql" %}
BEGIN
{%- include "adopted/_local_time.sql" %}
{% include "relational/_settings.sql" %}
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;

{%- if shows_errors %}
{%- include "adopted/_others_errors.sql" %}
{%- endif %}

    /* Who may be dead; rows that others hold are passed over, theirs are not. */
    SELECT {% for column in key %}ARRAY_AGG(q.{{ column.quoted }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ keys }}
    FROM (
        (
            SELECT {% set of = "s.key_" %}{% include "adopted/_key_list.sql" %}
            FROM (
                SELECT DISTINCT
                    c.started_at,
                    c.lease_owner
                FROM (
                    SELECT
                        s.started_at,
                        s.lease_owner
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE
                        s.status = 'Processing'
                        AND (s.lease_until <= now_ OR s.lease_owner = worker_)
                    ORDER BY s.started_at
                    LIMIT max_
                ) AS c
            ) AS d
            /* The oldest claims first, each with all that is left of it: a chunk must not split one. */
            INNER JOIN {{ object(queue ~ "_lease") }} AS s
                ON
                    s.status = 'Processing'
                    AND s.started_at BETWEEN d.started_at AND d.started_at
                    AND s.lease_owner = d.lease_owner
                    AND (s.lease_until <= now_ OR s.lease_owner = worker_)
        )
{%- if foreign %}
        UNION ALL
        (
            SELECT {% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}
            FROM {{ table }} AS q
            WHERE
{%- for condition in processing %}
                {{ "AND " if not loop.first }}q.{{ condition.quoted }}
                {{- " IS NOT NULL" if condition.holds == "something" else (" IS NULL" if condition.holds == "null" else " = " ~ condition.literal) }}
{%- endfor %}
                AND {% if role.owner %}({% endif %}q.{{ role.started }} <= now_ - lease_ms_ * interval '1 millisecond'
{%- if role.owner %} OR q.{{ role.owner }} = worker_){% endif %}
                AND NOT EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE
                        {% for column in key %}s.key_{{ loop.index }} = q.{{ column.quoted }} AND {% endfor %}s.status <> 'Pending'
                )
            ORDER BY q.{{ role.started }}
            LIMIT max_
        )
{%- endif %}
    ) AS w ({% set of = "key_" %}{% include "adopted/_key_list.sql" %})
    CROSS JOIN LATERAL (
        SELECT {% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q
        WHERE {% set of = "w.key_" %}{% include "adopted/_at_key.sql" %}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q;

    /* What is gone from the table leaves nothing behind. */
    DELETE FROM {{ object(queue ~ "_lease") }} AS s
    USING (
        SELECT {% set of = "g.key_" %}{% include "adopted/_key_list.sql" %}
        FROM {{ object(queue ~ "_lease") }} AS g
        WHERE
            g.status = 'Processing'
            AND g.lease_until <= now_
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE {% include "adopted/_at_key.sql" %}
            )
        ORDER BY g.started_at
        LIMIT max_
    ) AS g
    WHERE {% include "adopted/_lease_at_key.sql" %};

    IF key_1_ IS NULL THEN
        RETURN;
    END IF;

    /* Of those that somebody changed by hand, the table is right. */
    UPDATE {{ object(queue ~ "_lease") }} AS s
    SET status = v.item_status, lease_until = NULL
    FROM {% include "adopted/_keys_unnested.sql" %}
    INNER JOIN LATERAL (
        {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
    ) AS v
        ON TRUE
    WHERE
        {% include "adopted/_lease_at_key.sql" %}
        AND s.status = 'Processing'
        AND v.item_status <> 'Processing';

    RETURN QUERY
    /* A lease that is being renewed right now is alive. */
    WITH held AS MATERIALIZED (
        SELECT {% include "adopted/_key_list.sql" %}, s.together
        FROM {% include "adopted/_keys_unnested.sql" %}
        CROSS JOIN LATERAL (
            SELECT FALSE AS together
            FROM (VALUES (1)) AS one (one)
            WHERE
                NOT EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE {% include "adopted/_lease_at_key.sql" %}
                )
        ) AS s
        UNION ALL
        SELECT {% include "adopted/_key_list.sql" %}, s.together
        FROM {% include "adopted/_keys_unnested.sql" %}
        CROSS JOIN LATERAL (
            SELECT
                /*
                Of what was claimed together, nobody knows which was begun. Asked of all and not of what is locked here:
                another recovery may have the rest of it in hands.
                */
                s.status = 'Processing'
                AND EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS o
                    WHERE
                        o.status = 'Processing'
                        AND o.started_at BETWEEN s.started_at AND s.started_at
                        AND o.lease_owner = s.lease_owner
                        AND ({% for column in key %}o.key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}) <> ({% for column in key %}s.key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %})
                ) AS together
            FROM {{ object(queue ~ "_lease") }} AS s
            WHERE
                {% include "adopted/_lease_at_key.sql" %}
                AND (s.lease_until <= now_ OR s.lease_owner = worker_ OR s.status <> 'Processing')
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS s
    ),

    decided AS MATERIALIZED (
        SELECT
            {% include "adopted/_key_list.sql" %},
            {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}'OK' AS answer,
            CASE WHEN e.ends THEN 'Failed' ELSE 'Error' END AS status,
            GREATEST(now_, v.item_token + interval '1 microsecond') AS token,
            v.item_attempt - k.together::integer AS attempt_num,
            v.item_step AS step,
            v.item_response AS response,
            CASE
                WHEN v.item_owner = worker_
                    THEN format('Worker %s started again on attempt %s of %s.', worker_, v.item_attempt, max_attempts_)
                ELSE format(
                    'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.',
                    COALESCE(v.item_owner, '(unknown)'), v.item_attempt, max_attempts_
                )
            END || CASE
                WHEN k.together
                    THEN ' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                ELSE ''
            END AS error,
            v.item_started_at AS started_at,
            v.item_started_at AS run_started_at,
            CASE WHEN e.ends THEN (EXTRACT(EPOCH FROM now_ - v.item_started_at) * 1000)::bigint END AS duration,
            {{ "LEAST(v.item_due_at, now_)" if role.due and not parks_errors else "now_" }} AS due_at,
            v.item_owner AS owner,
            NULL::timestamptz AS lease_until,
            CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS died_at,
            FALSE AS enters,
            e.ends AS finishes,
            FALSE AS reopens,
            TRUE AS stays
        FROM held AS k
        INNER JOIN LATERAL (
            {% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        CROSS JOIN LATERAL (SELECT NOT k.together AND v.item_attempt >= max_attempts_ AS ends) AS e
        WHERE
            v.item_status = 'Processing'
            AND (v.item_lease_until <= now_ OR v.item_owner = worker_)
    ),

{% include "adopted/_write.sql" %}

    SELECT
        'RECOVERED', NULL::integer, NULL::bigint, {% set of = "c.key_" %}{% include "adopted/_key_text.sql" %}, c.token, c.attempt_num,
        c.status
    FROM changed AS c
    ORDER BY {% include "adopted/_key_list.sql" %};
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(integer, text) FROM public;
GO
