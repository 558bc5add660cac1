{%- set procedure = "next_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set keys -%}{% for column in key %}key_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none). With recover_ 1, first give back the items of
dead workers; with 2 also what is in flight under this very worker's name, for a worker that starts again.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
{%- if run_time %}
started_at_ is what the table gets for the start: one time for a worker's whole run.
{%- endif %}
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
    {{- ",\n    started_at_ timestamptz DEFAULT NULL" if run_time }}
)
RETURNS TABLE (
{% include "adopted/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    alone_ boolean;
{%- include "adopted/_key_variables.sql" %}
{%- if parks_errors or (due_in_order and index.name) %}
    found_ integer;
{%- endif %}
{%- if due_in_order and index.name %}
{%- for column in key %}
    more_{{ loop.index }}_ {{ key_types[loop.index0] }}[];
{%- endfor %}
{%- endif %}
BEGIN
{%- include "adopted/_local_time.sql" %}
{% include "relational/_settings.sql" %}
{% include "adopted/_worker_checks.sql" %}
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
{%- if resume_own %}
    IF recover_ = 2 THEN
        PERFORM FROM {{ object("recover_" ~ queue ~ "_trx") }}(1000, worker_);
    END IF;
{%- endif %}
    IF recover_ > 0 THEN
        PERFORM FROM {{ object("recover_" ~ queue ~ "_trx") }}(100);
    END IF;
{%- if group %}

    /*
    One claim at a time, to the end of its transaction: which items are the first of their groups is not decided by two
    at once. Whoever holds this waits for nobody else. It is a row, since only who may claim can lock it through here.
    */
    PERFORM FROM {{ object("queue_turn") }} AS t WHERE t.queue = '{{ queue }}' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'next_{{ queue }}_set_trx: the row of {{ queue }} in queue_turn is gone; install the queue again'
        USING ERRCODE = 'RP014';
    END IF;
{%- endif %}

    now_ := clock_timestamp();
{%- if parks_errors %}
{% include "adopted/_unpark.sql" %}
{%- endif %}

    /*
    Lock due items of the table; those that others hold are passed over. What
    {{ queue }}_lease says of them is read in the next statement: only then nobody changes it any more.
    */
{%- if not role.due %}
{% set due_is = none %}{% set most = "max_" %}{% set into = keys %}{% include "adopted/_lock_due.sql" %}
{%- elif not due_in_order %}
{% set due_is = "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= now_)" %}{% set most = "max_" %}{% set into = keys %}{% include "adopted/_lock_due.sql" %}
{%- elif not index.name %}
{% set due_is = "COALESCE(q." ~ role.due ~ ", '-infinity') <= now_" %}{% set most = "max_" %}{% set into = keys %}{% include "adopted/_lock_due.sql" %}
{%- else %}
    /* Those without a due time first. The two are asked for one by one, since each is one seek and both at once none. */
{% set due_is = "q." ~ role.due ~ " IS NULL" %}{% set most = "max_" %}{% set into = keys %}{% include "adopted/_lock_due.sql" %}
    found_ := COALESCE(CARDINALITY(key_1_), 0);
    IF found_ < max_ THEN
{% set due_is = "q." ~ role.due ~ " <= now_" %}{% set most = "max_ - found_" %}{% set into = keys | replace("key_", "more_") %}{% include "adopted/_lock_due.sql" %}
{%- for column in key %}
        key_{{ loop.index }}_ := key_{{ loop.index }}_ || more_{{ loop.index }}_;
{%- endfor %}
    END IF;
{%- endif %}

    IF key_1_ IS NOT NULL THEN
        WITH found AS MATERIALIZED (
            SELECT
                k.position,
                {% for column in key %}v.item_key_{{ loop.index }}, {% endfor %}
                {% for column in seek %}v.item_seek_{{ loop.index }}, {% endfor %}v.item_token, v.item_attempt, v.item_step, v.item_response, v.item_error,
                v.item_started_at, v.item_duration, v.item_due_at, v.item_owner,
                v.item_attempt >= max_attempts_ AS is_spent,
                v.item_attempt < max_attempts_ AND v.item_died_at IS NOT NULL AS alone
            FROM {% include "adopted/_keys_unnested.sql" %}
            INNER JOIN LATERAL (
                {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
            ) AS v
                ON TRUE
        ),

        /* In their order up to the first that goes alone, or that one. The others are let go with the transaction. */
        decided AS MATERIALIZED (
            SELECT
                v.position,
                {% for column in key %}v.item_key_{{ loop.index }} AS key_{{ loop.index }}, {% endfor %}
                {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}'OK' AS answer,
                /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
                CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
                GREATEST(now_, v.item_token + interval '1 microsecond') AS token,
                v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
                v.item_step AS step,
                v.item_response AS response,
                CASE
                    WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
                    ELSE v.item_error
                END AS error,
                CASE WHEN v.is_spent THEN v.item_started_at ELSE now_ END AS started_at,
                {{ "COALESCE(started_at_, now_)" if run_time else "now_" }} AS run_started_at,
                CASE WHEN v.is_spent THEN v.item_duration END AS duration,
                v.item_due_at AS due_at,
                CASE WHEN v.is_spent THEN v.item_owner ELSE worker_ END AS owner,
                CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until,
                NULL::timestamptz AS died_at,
                v.alone,
                NOT v.is_spent AS enters,
                v.is_spent AS finishes,
                FALSE AS reopens,
                TRUE AS stays
            FROM (
                SELECT
                    f.*,
                    COUNT(*) FILTER (WHERE NOT f.is_spent) OVER w AS place,
                    COUNT(*) FILTER (WHERE f.alone) OVER w AS alone_so_far
                FROM found AS f
                WINDOW w AS (ORDER BY f.position ROWS UNBOUNDED PRECEDING)
            ) AS v
            WHERE
                v.is_spent
                OR v.alone_so_far = 0
                OR (v.alone AND v.place = 1)
        ),

{% include "adopted/_write.sql" %}

        SELECT {% for column in key %}ARRAY_AGG(c.key_{{ loop.index }} ORDER BY c.position), {% endfor %}BOOL_OR(c.alone)
        INTO {{ keys }}, alone_
        FROM changed AS c
        WHERE c.status = 'Processing';

        RETURN QUERY
        SELECT
            CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
            NULL::integer,
            NULL::bigint,
            {% set of = "k.key_" %}{% include "adopted/_key_text.sql" %},
            v.item_token,
            v.item_attempt,
            v.item_status,
{%- include "adopted/_item_columns.sql" %}
        FROM {% include "adopted/_keys_unnested.sql" %}
        INNER JOIN LATERAL (
            {% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        ORDER BY k.position;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
    answer := 'EMPTY';
    answer_due_ms := (
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
{%- if role.due %}
            (
                SELECT q.{{ role.due }}::timestamptz AS due_at
                FROM {{ table }} AS q
                WHERE
{%- include "adopted/_pending.sql" %}
{%- if due_in_order and not index.name %}
            AND COALESCE(q.{{ role.due }}, '-infinity') > now_
                ORDER BY COALESCE(q.{{ role.due }}, '-infinity')
{%- else %}
            AND q.{{ role.due }} > now_
                ORDER BY q.{{ role.due }}
{%- endif %}
                LIMIT 1
            )
{{ "            UNION ALL" if parks_errors }}
{%- endif %}
{%- if parks_errors %}
            (
                SELECT s.due_at
                FROM {{ object(queue ~ "_lease") }} AS s
                WHERE
                    s.status = 'Error'
                    AND s.due_at > now_
                ORDER BY s.due_at
                LIMIT 1
            )
{%- elif not role.due %}
            SELECT NULL::timestamptz AS due_at
{%- endif %}
        ) AS n
    );
    RETURN NEXT;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(
    text, integer, integer, integer{{ ", timestamptz" if run_time }}
) FROM public;
GO
{% include "adopted/_next_one.sql" %}
