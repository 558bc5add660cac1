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
{%- include "part/claim_set_variables.sql" %}
BEGIN
{%- include "part/local_time.sql" %}
{% include "part/settings.sql" %}
{{- check.checks(procedure, ["worker", "most", "lease"] + (["started"] if run_time else [])) }}
{%- include "part/kind_checks.sql" %}
{%- include "part/claim_set.sql" %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
