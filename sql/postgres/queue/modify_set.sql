{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- import "macro/checks.sql" as check -%}
{%- import "macro/set_value.sql" as value -%}
{%- import "macro/write.sql" as write -%}
{%- set procedure = "modify_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set can_set = settable or subtypes %}
{#-
Values to set have a statement of their own, since most calls set nothing: columns are not written for nothing, and one that is gone does
not keep finished work from being reported.
-#}
{%- macro ring() %}
    IF is_awaited_ THEN PERFORM {{ object("ring_waiters_" ~ queue) }}(items_);
    END IF;
{%- endmacro -%}
{%- set leaves = completion == "delete" or (own and completion == "history") -%}
{% include "part/ring.sql" %}
{% filter made("FUNCTION", procedure) %}
/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status
(left out for an edit: an item that waits stays as it is, but for its values and its due time), and where wanted step, response,
error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns{{ ", of a subtype's by its name" if subtypes }}: written where the answer is OK; what is left out stays).
{%- if composite %}
A key is an array of its columns' values.
{%- endif %}
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_{{ queue }}_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
{{ "what the first call claimed, claimed_" ~ queue ~ " returns by its claim_." if marks_claims else "items claimed by the first call are left to their lease." }}
{%- if not role.due %}
The table has no due time: what is given back for later is an Error that waits in {{ queue }}_lease until then.
{%- endif %}
Table access order: queue_operation, {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_transition{% for subtype in subtypes %}, {{ queue ~ "_" ~ subtype.stem }}{% endfor %}{{ ", " ~ queue ~ "_attempt" if attempt_history }}{{ ", " ~ queue ~ "_progress" if reports_alone and completion != "keep" }}; queue_awaited.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
{%- filter listed(4) -%}
operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0
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
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
    is_awaited_ boolean;
{%- if can_set %}
    sets_ boolean := FALSE;
{%- endif %}
{%- if not own %}
    answers_ json;
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["worker", "most", "lease"] + (["started"] if run_time else []), least=0, ends=true) }}
{{- check.takes(procedure, takes.modify) }}

{% include "part/set_checks.sql" %}

{% include "part/remember.sql" %}
    /* A worker's items have attempts. */
    IF items_::text !~ '"attempt" ?: ?[1-9]' THEN PERFORM {{ object("ring_holders_" ~ queue) }}(items_);
    END IF;
    IF replayed_ THEN
{%- if own %}
        RETURN QUERY
        SELECT a.*, {{ m.no_item() | listed(8) }}
        FROM (
{{ m.kept_answers(leaves) | indent(12, true) }}
        ) AS a;
        RETURN;
    END IF;
{%- else %}
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{%- if beside %}
{% include "part/lock_items.sql" %}
{%- endif %}
{%- endif %}
{%- for sets_values in [true, false] if can_set or not sets_values %}
{%- if can_set %}
    {{ "IF sets_ THEN" if sets_values else "ELSE" }}
{%- endif %}
{{- "
    RETURN QUERY" if own }}
{% include "part/judge.sql" %}
{{- write.changed(
    ["attempts", "step", "response", "error", "due", "started", "duration", "owner", "lease_until"], leaves=leaves, values=sets_values
) }},
{%- if sets_values %}
{%- include "part/set_subtypes.sql" %}
{%- endif %}
{%- if leaves %}
{% include "part/complete.sql" %}
{%- endif %}
{%- if beside %}

    dropped AS (
        DELETE FROM {{ object(queue ~ "_lease") }} AS s
        USING decided AS d
        WHERE
            {{ m.lease_at_key("d.key_") }}
            AND d.answer = 'OK' AND NOT d.stays
    ),
{%- endif %}
{%- if attempt_history %}
{%- import "macro/attempted.sql" as history %}
{{- history.attempted("ended_error") }},
{%- if completion == "delete" %}

    forgotten AS (
        DELETE FROM {{ object(queue ~ "_attempt") }} AS a
        USING decided AS d
        WHERE
            {{ m.attempt_at_key("d.key_") }}
            AND d.answer = 'OK' AND d.status = 'Completed'
    ),
{%- endif %}
{%- endif %}
{%- if reports_alone and completion != "keep" %}

    unreported AS (
        DELETE FROM {{ object(queue ~ "_progress") }} AS p
        USING decided AS d
        WHERE
            {{ m.progress_at_key("d.key_") }}
            AND d.answer = 'OK' AND d.status = 'Completed'
    ),
{%- endif %}

{% if own %}
{%- include "part/remembered.sql" %}

    SELECT
        d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status,
{{- m.no_item() | listed(8) }}
    FROM decided AS d
    ORDER BY d.ordinal;
{%- else %}
{%- include "part/told.sql" %}
{%- endif %}
{%- endfor %}
{%- if can_set %}
    END IF;
{%- endif %}
{%- if own %}
{{- ring() }}

    IF max_ > 0 THEN
{%- else %}
{%- if completion == "history" %}
    PERFORM {{ object("move_" ~ queue ~ "_trx") }}(answers_);
{%- endif %}
{% include "part/keep_answers.sql" %}
{{- ring() }}
    END IF;

    {{ m.answers_of() }}
        SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
        FROM {{ m.answers_again() | indent(4) }}
        ORDER BY a.ordinal
    {{ m.pass_on() }}

    IF max_ > 0 AND NOT replayed_ THEN
{%- endif %}
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_set_trx") }}(
            worker_, max_, lease_ms_, recover_{{ ", started_at_" if run_time }}{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
        ) AS n;
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(uuid, text, json, integer, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
{%- set called_as = object("modify_" ~ queue ~ "_set_utx") %}
{% filter made("FUNCTION", "modify_" ~ queue ~ "_set_utx") %}
/*
{{ procedure }} by the name that says that the call is a part of the caller's transaction, as every call here is: it has the
locks until that ends, and is undone with it. What is refused is an answer, and leaves the transaction as it is. Whether
others recovered lately does not count.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION {{ called_as }}(
{%- filter listed(4) -%}
operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0
    {{- ", started_at_ timestamptz DEFAULT NULL" if run_time }}{{ ", types_ json DEFAULT NULL" if asks_types }}{{ ", steps_ json DEFAULT NULL" if asks_steps }}
    {{- ", claim_ bigint DEFAULT NULL" if marks_claims }}
{%- endfilter %}
)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/same_as_trx.sql" %}
AS $$
    SELECT m.*
    FROM {{ function }}(
        operation_, worker_, items_, max_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END
        {{- ", started_at_" if run_time }}
        {{- ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
    ) AS m;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ called_as }}(uuid, text, json, integer, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
