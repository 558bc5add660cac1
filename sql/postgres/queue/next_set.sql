{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- set procedure = "next_" ~ queue ~ "_set_trx" -%}
{%- set knows_refused = false -%}
{%- set one = false -%}
{%- set function = object(procedure) -%}
{#- Whether the index of what is due begins with the due time, in that order, and a claim passes over none of it but what is dead: with a
group it does over what waits behind others. -#}
{%- set begins_at_head = own and searches_all and not shards and due_columns[0].quoted == role.due and not due_columns[0].descending and not group and not limits -%}
{%- set of_claim = true -%}
{%- macro around() %}
    IF {{ m.goes_around() }} THEN
        /* The table refuses some, or they are paused: around those. */
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_apart_trx") }}(
            worker_, max_, lease_ms_{{ ", started_at_" if run_time }}{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
        ) AS n;
        RETURN;
    END IF;
{%- endmacro -%}
{% filter made("FUNCTION", procedure) %}
/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with the milliseconds
until the next item is due (NULL when there is none; 0 when it only ended items whose attempts are spent: ask again). With recover_ 1,
first give back the items of dead workers; with 3 or more, unless somebody did within so many milliseconds. An item that came back from
a dead worker may have been its death. It is handed out alone, with the answer CLAIMED_ALONE; so a claim ends before it, unless it is first.
{%- if resume_own %}
With recover_ 2 it first takes up again what is in flight under this worker's own name as well: for a worker that has
just started, whose predecessor of that name left work behind.
{%- endif %}
{%- if run_time %}
started_at_ is what the table gets for the start: one time for a worker's whole run.
{%- endif %}
{%- if asks_types %}
types_ is a JSON array of the types to take; NULL: all of them.
{%- endif %}
{%- if asks_steps %}
steps_ is a JSON array of the steps to take, "" for items that have none; NULL: all of them.
{%- endif %}
{%- if marks_claims %}
claim_ is a number of the claim's own, above zero: with it claimed_{{ queue }} returns what was claimed, when the answer was lost.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", " ~ queue ~ "_attempt" if attempt_history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(

{%- filter listed(4) -%}
worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
    {{- ", started_at_ timestamptz DEFAULT NULL" if run_time }}{{ ", types_ json DEFAULT NULL" if asks_types }}{{ ", steps_ json DEFAULT NULL" if asks_steps }}
    {{- ", claim_ bigint DEFAULT NULL" if marks_claims }}
{%- endfilter %}
)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    turn_ boolean;
{%- if begins_at_head %}
    /* NULL where it is gone, or has another name. */
    index_ CONSTANT regclass := to_regclass({{ literal(queue ~ "_due") }});
    head_ timestamptz := '-infinity';
    /* Counted until the server takes the figures over, which may be later than with this transaction. */
    read_ CONSTANT bigint := pg_stat_get_xact_tuples_returned(index_);
{%- endif %}
{%- include "part/claim_variables.sql" %}
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["worker", "most", "lease"] + (["started"] if run_time else [])) }}
{%- include "part/kind_checks.sql" %}
{%- if resume_own %}
    IF recover_ = 2 THEN
        {{ m.answers_of() }}
            SELECT r.* FROM {{ object("recover_" ~ queue ~ "_trx") }}(1000, worker_) AS r WHERE r.answer = 'REFUSED'
        {{ m.pass_on() | indent(4) }}
    END IF;
{%- endif %}
    /* Asked here, or most claims would call for nothing. */
    IF recover_ > 2 THEN
        turn_ := {{ object("queue_recovery_turn") }}('{{ queue }}', recover_, clock_timestamp());
    END IF;
    IF recover_ > 0 AND turn_ IS NOT FALSE THEN
        {{ m.answers_of() }}
            SELECT r.*
            FROM {{ object("recover_" ~ queue ~ "_trx") }}(100) AS r
            WHERE r.answer = 'REFUSED'
        {{ m.pass_on() | indent(4) }}
    END IF;
{%- if beside or limits %}
{{ around() }}
{%- endif %}
{%- if group or limits %}

    /*
    One claim at a time, to the end of its transaction: which items {{ "are the first of their groups" if group else "there is room for" }} is not decided by two
    at once. Its holder waits for no other. It is a row, since only who may claim can lock it through here.
    */
{{- m.turn(procedure, queue) }}
{%- endif %}

    now_ := clock_timestamp();
{%- if limits %}
{%- include "part/limit_room.sql" %}
{%- endif %}
{%- if beside %}
{%- if parks_errors %}
{% include "part/unpark_call.sql" %}
{%- endif %}
{% include "part/lock_beside.sql" %}

    IF key_1_ IS NOT NULL THEN
        RETURN QUERY
        SELECT n.*
        FROM {% include "part/claim_call.sql" %};
        IF FOUND THEN RETURN;
        END IF;
    END IF;
{%- else %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    IF {{ m.kinds_given(search) }} THEN
{%- endif %}
{% include "part/kinds_asked.sql" %}
    RETURN QUERY
{% include "part/claim.sql" %};
{%- if not loop.last or searches_all %}
    ELSE
{%- endif %}
{%- endfor %}
{%- if searches_all %}
{%- set search = none %}
{%- if shards %}
    shard_turn_ := nextval({{ literal(queue ~ "_shard_turn") }});
{%- endif %}
{%- if begins_at_head %}
    IF COALESCE(current_setting('readpast.head_{{ queue }}', TRUE), '') <> '' THEN
        head_ := {{ object("queue_head_fn") }}(current_setting('readpast.head_{{ queue }}'), index_, now_);
    END IF;
{%- for one in [true, false] %}
    {{ "/* One item has no order, and a claim of it nothing to end before. */\n    IF max_ = 1 THEN" if one else "ELSE" }}
    RETURN QUERY
{% include "part/claim.sql" %};
{%- endfor %}
    END IF;
    IF NOT FOUND AND head_ > '-infinity' THEN
        /* Nothing from there on: once more, from the first. */
        PERFORM set_config('readpast.head_{{ queue }}', '', FALSE);
        RETURN QUERY
        SELECT n.*
        FROM {{ function }}(
            worker_, max_, lease_ms_, 0{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
        ) AS n;
        RETURN;
    END IF;
    IF
        FOUND AND clock_timestamp() - now_ > interval '2 ms'
        AND pg_stat_get_xact_tuples_returned(index_) - read_ > 1000 + 10 * max_
    THEN
        /* It has passed over much that is dead. */
        PERFORM {{ object("queue_begin_at_fn") }}('readpast.head_{{ queue }}', index_, now_, MIN(q.{{ role.due }}))
        FROM {{ table }} AS q
        WHERE {{ m.stands(processing) }} AND q.{{ role.started }} BETWEEN now_ AND now_ AND q.{{ role.owner }} = worker_
        HAVING COUNT(*) > 0;
        RETURN;
    END IF;
{%- else %}
    RETURN QUERY
{% include "part/claim.sql" %};
{%- endif %}
{%- endif %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    END IF;
{%- endif %}
{%- endfor %}
    IF FOUND THEN

{%- if limits | selectattr("rate") | list %}
        PERFORM {{ object("spend_" ~ queue) }}(worker_, now_);
        RETURN;
{%- else %} RETURN;
{%- endif %}
    END IF;
{{- around() if not limits }}
{%- endif %}

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
{%- set refused = false %}
{%- include "part/next_due.sql" %}
    RETURN NEXT;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
