{%- import "part/macros.sql" as m -%}
{%- import "part/checks.sql" as check -%}
{%- set procedure = "next_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none; 0 when it only ended items whose attempts are
spent: ask again). With recover_ 1, first give back the items of dead workers; with 3 or more, unless somebody did
within so many milliseconds.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
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
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
    {{- ",\n    started_at_ timestamptz DEFAULT NULL" if run_time }}
    {{- ",\n    types_ json DEFAULT NULL" if asks_types }}{{ ",\n    steps_ json DEFAULT NULL" if asks_steps }}{{ ",\n    claim_ bigint DEFAULT NULL" if marks_claims }}
)
RETURNS TABLE ({{ m.item_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
{%- include "part/claim_variables.sql" %}
BEGIN
{%- include "part/local_time.sql" %}
{% include "part/settings.sql" %}
{{- check.checks(procedure, ["worker", "most", "lease"] + (["started"] if run_time else [])) }}
{%- include "part/kind_checks.sql" %}
{%- if resume_own %}
    IF recover_ = 2 THEN
        RETURN QUERY
        SELECT r.*,
{{- m.no_item() }}
        FROM {{ object("recover_" ~ queue ~ "_trx") }}(1000, worker_) AS r
        WHERE r.answer = 'REFUSED';
    END IF;
{%- endif %}
    IF recover_ > 0 THEN
        RETURN QUERY
        SELECT r.*,
{{- m.no_item() }}
        FROM {{ object("recover_" ~ queue ~ "_trx") }}(100, recover_ => recover_) AS r
        WHERE r.answer = 'REFUSED';
    END IF;
    IF EXISTS (SELECT 1 FROM {{ object("queue_refused") }} AS x WHERE x.queue = '{{ queue }}') THEN
        /* The table refuses some: around those. */
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_apart_trx") }}(
            worker_, max_, lease_ms_{{ ", started_at_" if run_time }}{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
        ) AS n;
        RETURN;
    END IF;
{%- if group %}

    /*
    One claim at a time, to the end of its transaction: which items are the first of their groups is not decided by two
    at once. Whoever holds this waits for nobody else. It is a row, since only who may claim can lock it through here.
    */
{{- m.turn(procedure, queue) }}
{%- endif %}

    now_ := clock_timestamp();
{%- if beside %}
{% include "part/claim_beside.sql" %}
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
    RETURN QUERY
{% include "part/claim.sql" %};
{%- endif %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    END IF;
{%- endif %}
{%- endfor %}
    IF FOUND THEN
        RETURN;
    END IF;
{%- endif %}

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
{%- include "part/next_due.sql" %}
    RETURN NEXT;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
