{%- import "macro/item.sql" as m -%}
{%- for transaction in ["trx", "utx"] %}
{%- set procedure = "next_" ~ queue ~ "_" ~ transaction -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
{%- if transaction == "utx" %}
Claim one item inside the caller's transaction, to be worked on and settled there by modify_{{ queue }}_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due. With recover_ 1, first give back the items of dead workers, whose rows are locked to the end of the
transaction too.
{%- else %}
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following modify_{{ queue }}_trx. With recover_ 1, first give back
the items of dead workers; with 3 or more, unless somebody did within so many milliseconds.
{%- endif %}
{%- if asks_types %}
types_ is a JSON array of the types to take; NULL: all of them.
{%- endif %}
{%- if asks_steps %}
steps_ is a JSON array of the steps to take, "" for items that have none; NULL: all of them.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", " ~ queue ~ "_attempt" if attempt_history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT {{ 0 if transaction == "utx" else 1 }}
    {{- ",\n    types_ json DEFAULT NULL" if asks_types }}{{ ",\n    steps_ json DEFAULT NULL" if asks_steps }}
)
RETURNS TABLE ({{ "enqueued_at timestamptz, updated_at" if own else "item_key text, item_token" }} timestamptz)
{%- if transaction == "utx" %}
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT n.*
    FROM {{ object("next_" ~ queue ~ "_trx") }}(
        worker_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END{{ ", types_" if asks_types }}{{ ", steps_" if asks_steps }}
    ) AS n;
END;
$$;
{%- else %}
{% include "part/attributes.sql" %}
AS $$
DECLARE
    next_ record;
BEGIN
    LOOP
        SELECT n.answer, n.answer_due_ms, n.answer_key, n.answer_token
        INTO next_
        FROM {{ object("next_" ~ queue ~ "_set_trx") }}(
            COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, recover_{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}
        ) AS n
        WHERE n.answer <> 'REFUSED';
        /* Items were ended whose attempts are spent, or left aside; what comes behind them is due now. */
        EXIT WHEN next_.answer <> 'EMPTY' OR next_.answer_due_ms > 0 OR next_.answer_due_ms IS NULL;
    END LOOP;
    IF next_.answer <> 'EMPTY' THEN RETURN QUERY SELECT next_.answer_key, next_.answer_token;
    END IF;
END;
$$;
{%- endif %}
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer{{ ", json" if asks_types }}{{ ", json" if asks_steps }}) FROM public;
{% endfilter %}
{% endfor %}
