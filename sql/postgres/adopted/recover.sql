{%- set procedure = "recover_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- set keys -%}{% for column in key %}key_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
{%- set foreign = role.started and not run_time and shows_claims -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. With worker_, everything that is in flight under this name counts,
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
            FROM {{ object(queue ~ "_lease") }} AS s
            WHERE
                s.status = 'Processing'
                AND (s.lease_until <= now_ OR s.lease_owner = worker_)
            ORDER BY s.started_at
            LIMIT max_
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
        SELECT {% include "adopted/_key_list.sql" %}, s.free
        FROM {% include "adopted/_keys_unnested.sql" %}
        CROSS JOIN LATERAL (
            SELECT TRUE AS free
            FROM (VALUES (1)) AS one (one)
            WHERE
                NOT EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE {% include "adopted/_lease_at_key.sql" %}
                )
        ) AS s
        UNION ALL
        SELECT {% include "adopted/_key_list.sql" %}, s.free
        FROM {% include "adopted/_keys_unnested.sql" %}
        CROSS JOIN LATERAL (
            SELECT TRUE AS free
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
            CASE WHEN v.item_attempt >= max_attempts_ THEN 'Failed' ELSE 'Error' END AS status,
            GREATEST(now_, v.item_token + interval '1 microsecond') AS token,
            v.item_attempt AS attempt_num,
            v.item_step AS step,
            v.item_response AS response,
            CASE
                WHEN v.item_owner = worker_
                    THEN format('Worker %s started again on attempt %s of %s.', worker_, v.item_attempt, max_attempts_)
                ELSE format(
                    'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.',
                    COALESCE(v.item_owner, '(unknown)'), v.item_attempt, max_attempts_
                )
            END AS error,
            v.item_started_at AS started_at,
            v.item_started_at AS run_started_at,
            CASE
                WHEN v.item_attempt >= max_attempts_ THEN (EXTRACT(EPOCH FROM now_ - v.item_started_at) * 1000)::bigint
            END AS duration,
            {{ "LEAST(v.item_due_at, now_)" if role.due and not parks_errors else "now_" }} AS due_at,
            v.item_owner AS owner,
            NULL::timestamptz AS lease_until,
            FALSE AS enters,
            v.item_attempt >= max_attempts_ AS finishes,
            FALSE AS reopens,
            TRUE AS stays
        FROM held AS k
        INNER JOIN LATERAL (
            {% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
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
