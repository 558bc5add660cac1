{%- set function = object("next_" ~ queue ~ "_set_trx") -%}
/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none). With recover_ 1, first give back the items of
dead workers; a caller that polls often need not each time.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
{%- if resume_own %}
With recover_ 2 it first takes up again what is in flight under this worker's own name as well: for a worker that has
just started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
)
RETURNS TABLE (
{% include "relational/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
{%- if resume_own %}
    resumed_ integer;
{%- endif %}
{%- if own_types_only %}
    own_type_ text;
    claimed_ integer := 0;
    alone_ boolean := FALSE;
{%- endif %}
BEGIN
{% include "relational/_settings.sql" %}
    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION 'next_{{ queue }}_set_trx: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'next_{{ queue }}_set_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'next_{{ queue }}_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
{%- if resume_own %}
{% include "relational/_resume.sql" %}
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
{%- if own_types_only %}
    /*
    The caller's types, each sought by itself, first the one whose head has been due longest: what waits of other types
    is neither read nor locked.
    */
    FOR own_type_ IN
        SELECT t.type
        FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS t (type)
        CROSS JOIN LATERAL (
            SELECT q.scheduled_for
            FROM {{ object(queue) }} AS q
            WHERE
                q.type = t.type
                AND q.status IN ('Pending', 'Error')
                AND q.scheduled_for <= now_
            ORDER BY
{%- for column in due_columns %}
                q.{{ column.quoted }}{{ " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
            LIMIT 1
        ) AS h
{%- set own = "t" %}
        WHERE {% filter indent(4) %}{% include "relational/_own_type.sql" %}{% endfilter %}
        ORDER BY
            h.scheduled_for,
            t.type
    LOOP
{%- endif %}
{%- if own_types_only %}
    FOR
{% include "relational/_answer_names.sql" %}
    IN
{%- else %}
    RETURN QUERY
{%- endif %}
    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH due AS MATERIALIZED (
        SELECT
            q.enqueued_at,
            q.scheduled_for,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            q.attempt_num >= max_attempts_ AS spent,
            /* It came back from a dead worker: such a row keeps its lease that is over. */
            q.attempt_num < max_attempts_ AND q.lease_until IS NOT NULL AS alone
        FROM {{ object(queue) }} AS q
        WHERE
{%- if own_types_only %}
            q.type = own_type_
            AND q.status IN ('Pending', 'Error')
{%- else %}
            q.status IN ('Pending', 'Error')
{%- endif %}
            AND q.scheduled_for <= now_
{%- if group %}
{% include "relational/_group_free.sql" %}
{%- endif %}
{%- if order %}
        ORDER BY
{%- for column in order %}
            q.{{ column.quoted }}{{ " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
        LIMIT max_{{ " - claimed_" if own_types_only }}
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    /* In their order up to the first that goes alone, or that one. The others are let go with the transaction. */
    taken AS MATERIALIZED (
        SELECT
            r.enqueued_at,
            r.scheduled_for,
            r.spent,
            r.alone
        FROM (
            SELECT
                d.*,
                COUNT(*) FILTER (WHERE NOT d.spent) OVER w AS place,
                COUNT(*) FILTER (WHERE d.alone) OVER w AS alone_so_far
            FROM due AS d
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS r
        WHERE
            r.spent
            OR r.alone_so_far = 0
            OR (r.alone AND r.place = 1{{ " AND claimed_ = 0" if own_types_only }})
    ),

    claimed AS (
        UPDATE {{ object(queue) }} AS q
        SET
            status = CASE WHEN d.spent THEN 'Failed' ELSE 'Processing' END,
            updated_at = GREATEST(now_, q.updated_at + interval '1 microsecond'),
            attempt_num = CASE WHEN d.spent THEN q.attempt_num ELSE q.attempt_num + 1 END,
            started_at = CASE WHEN d.spent THEN q.started_at ELSE now_ END,
            error = CASE
                WHEN d.spent THEN format('Attempts are spent: %s of %s.', q.attempt_num, max_attempts_)
                ELSE q.error
            END,
            lease_owner = CASE WHEN d.spent THEN q.lease_owner ELSE worker_ END,
            lease_until = CASE WHEN d.spent THEN NULL ELSE now_ + lease_ms_ * interval '1 millisecond' END
        FROM taken AS d
        /* They are locked and found due: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.enqueued_at AND d.enqueued_at
        RETURNING q.*, d.scheduled_for AS due_since, d.alone
    )

    SELECT
        CASE WHEN c.alone THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        NULL::integer,
        NULL::bigint,
        c.enqueued_at,
        c.updated_at,
        c.attempt_num,
        c.status::text,
        c.enqueued_at,
        c.type::text,
        c.status::text,
        c.step,
        c.attempt_num,
        c.response,
        c.error,
        c.started_at,
        c.duration,
        c.scheduled_for,
        c.updated_at,
        c.lease_owner,
        c.lease_until{% for column in columns %},
        c.{{ column.quoted }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
        {{ subtype.alias }}.{{ column.quoted }}{% endfor %}{% endfor %}
    FROM claimed AS c
{%- for subtype in subtypes %}
    LEFT JOIN {{ object(queue ~ "_" ~ subtype.stem) }} AS {{ subtype.alias }}
        ON {{ subtype.alias }}.enqueued_at BETWEEN c.enqueued_at AND c.enqueued_at
{%- endfor %}
    WHERE c.status = 'Processing'
{%- if order %}
    ORDER BY
{%- for column in order %}
        c.{{ "due_since" if column.quoted == "scheduled_for" else column.quoted }}
        {{- " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor -%}
{%- endif -%}
{%- if own_types_only %}
        LOOP
            RETURN NEXT;
            claimed_ := claimed_ + 1;
            alone_ := answer = 'CLAIMED_ALONE';
        END LOOP;
        EXIT WHEN alone_ OR claimed_ = max_;
    END LOOP;
{%- else -%}
;
{%- endif %}

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
    IF {{ "claimed_ = 0" if own_types_only else "NOT FOUND" }} THEN
        answer := 'EMPTY';
{%- if own_types_only %}
        answer_due_ms := (
            SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.scheduled_for) - now_) * 1000)::bigint
            FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS t (type)
            CROSS JOIN LATERAL (
                SELECT q.scheduled_for
                FROM {{ object(queue) }} AS q
                WHERE
                    q.type = t.type
                    AND q.status IN ('Pending', 'Error')
                    AND q.scheduled_for > now_
                ORDER BY q.scheduled_for
                LIMIT 1
            ) AS n
            WHERE {% filter indent(8) %}{% include "relational/_own_type.sql" %}{% endfilter %}
        );
{%- else %}
        answer_due_ms := (
            SELECT CEIL(EXTRACT(EPOCH FROM q.scheduled_for - now_) * 1000)::bigint
            FROM {{ object(queue) }} AS q
            WHERE
                q.status IN ('Pending', 'Error')
                AND q.scheduled_for > now_
            ORDER BY
                q.scheduled_for,
                q.enqueued_at
            LIMIT 1
        );
{%- endif %}
        RETURN NEXT;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer, integer) FROM public;
GO
