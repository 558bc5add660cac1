{%- set unpark = object("unpark_" ~ queue ~ "_trx") -%}
{% filter made("FUNCTION", "unpark_" ~ queue ~ "_trx") %}
/*
Parked retries that are due become pending again, at their old places: more than are claimed, or priority would not lead. One row
REFUSED for each that the table refuses, which is left aside, or ends once its attempts are spent. Called by claims{{ " and recoveries" if claimed_by_others }}.
Table access order: {{ table_name }}, {{ queue }}_lease, queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ unpark }}(max_attempts_ integer)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- include "part/key_variables.sql" %}
{{- narrow.variables() }}
BEGIN
    SELECT {{ m.arrays() }}
    INTO {{ m.list("key_", "_") }}
    FROM (
        SELECT {{ m.list("s.key_") }}
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE s.status = 'Error' AND s.due_at <= now_ AND {{ m.not_refused(m.key_kept("s.key_")) }}
        ORDER BY s.due_at
        LIMIT 100
    ) AS w
    CROSS JOIN LATERAL (
        SELECT {{ m.columns() }}
        FROM {{ table }} AS q
        WHERE {{ m.at_key("w.key_") }}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q;
{%- set body %}
        /* The table is right about items that somebody changed by hand. */
        UPDATE {{ object(queue ~ "_lease") }} AS s
        SET status = v.item_status{% if role.due %}, due_at = v.item_due_at{% endif %}
        FROM {{ m.keys_tried() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", []) | indent(12) }}
        ) AS v ON TRUE
        WHERE
            {{ m.lease_at_key("k.key_") }}
            AND s.status = 'Error'
            AND {% if role.due %}(v.item_status <> 'Error' OR v.item_due_at > now_){% else %}v.item_status <> 'Error'{% endif %};

        WITH decided AS MATERIALIZED (
            SELECT
                {{ m.list("k.key_") }},
                {{ m.seeks("v.item_seek_", "seek_") }}'OK' AS answer,
                CASE WHEN e.ends THEN 'Failed' ELSE 'Pending' END AS status,
                {{ m.later("v.item_token") }} AS token,
                v.item_attempt AS attempt_num, v.item_step AS step, v.item_response AS response,
                CASE
                    WHEN e.ends
                        THEN format('The table refused %s times to have it given back: %s', x.attempts, x.reason)
                    ELSE v.item_error
                END AS error,
                v.item_started_at AS started_at, v.item_started_at AS run_started_at, v.item_duration AS duration,
                v.item_due_at AS due_at, v.item_owner AS owner, NULL::timestamptz AS lease_until,
                CASE WHEN NOT e.ends THEN v.item_died_at END AS died_at,
                FALSE AS enters, e.ends AS finishes, FALSE AS reopens, TRUE AS stays
            FROM {{ m.keys_tried() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) | indent(16) }}
            ) AS v ON TRUE
            LEFT JOIN {{ object("queue_refused") }} AS x
                ON x.queue = '{{ queue }}' AND x.key = {{ m.key_kept("k.key_") }}
            CROSS JOIN LATERAL (
                SELECT COALESCE(x.attempts > 0 AND v.item_attempt + x.attempts >= max_attempts_, FALSE) AS ends
            ) AS e
            WHERE v.item_status = 'Error' AND COALESCE(v.item_due_at <= now_, TRUE)
        ),

{% import "macro/write.sql" as write %}{{ write.changed() | indent(4, true) }}

        SELECT COALESCE(ARRAY_AGG({{ m.key_kept("c.key_") }}), '{}')
        INTO done_
        FROM changed AS c;
{%- endset %}
    IF key_1_ IS NULL THEN RETURN;
    END IF;
{{ narrow.narrow("claim", body) }}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ unpark }}(integer) FROM public;
{% endfilter %}
