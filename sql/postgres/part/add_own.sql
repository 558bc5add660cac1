
{%- if dedup or after %}
    IF replayed_ THEN
        SELECT p.at, p.result
        INTO at_, result_
        FROM {{ object("queue_operation") }} AS p
        WHERE p.operation_id = operation_;

        RETURN QUERY
{% set at = "at_" -%}
{% include "part/unique_answers.sql" %}
        RETURN;
    END IF;
{%- endif %}
{%- if dedup and dedup.replaces %}
{% include "part/add_merged.sql" %}
{%- endif %}
    FOR attempt_ IN 1..5 LOOP
        BEGIN
{%- if dedup or after %}
{%- if dedup and dedup.replaces %}
{% filter indent(8, true) %}{% include "part/replace_same.sql" %}{% endfilter %}
{%- endif %}
{% include "part/add_unique.sql" %}
{%- if dedup and dedup.replaces %}
{% filter indent(8, true) %}{% include "part/replace_subtypes.sql" %}
{% include "part/replaced_answers.sql" %}{% endfilter %}
{%- endif %}
{%- if after %}

            IF EXISTS (SELECT 1 FROM json_to_recordset(items_) AS i (after json) WHERE json_typeof(i.after) <> 'null') THEN
                PERFORM {{ object("wait_" ~ queue) }}(items_, result_, now_);
            END IF;
{%- endif %}

            UPDATE {{ object("queue_operation") }} AS p
            SET result = result_
            WHERE p.operation_id = operation_;

            RETURN QUERY
{% set at = "now_" -%}
{% include "part/unique_answers.sql" %}
{%- else %}
            RETURN QUERY
{% include "part/add_stamped.sql" %}

            SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
            FROM item AS i
            /* Counted, so that nothing is returned before all of them are in. */
            CROSS JOIN (SELECT COUNT(*) FROM added) AS a
            ORDER BY i.ordinal;
            IF FOUND THEN
                IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
                    PERFORM {{ object("queue_clear") }}(operation_, now_);
                END IF;
                PERFORM {{ object("queue_ring") }}('{{ queue }}')
                WHERE EXISTS (SELECT 1 FROM {{ object("queue_sleeper") }} AS z WHERE z.queue = '{{ queue }}');
                RETURN;
            END IF;
            IF operation_ IS NULL THEN RETURN;
            END IF;
            /* It was made before; or its identity has been cleared away since, and another try makes it. */
            PERFORM FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_ AND p.call <> '{{ procedure }}';
            IF FOUND THEN
                RAISE EXCEPTION '{{ procedure }}: the operation % was another call', operation_ USING ERRCODE = 'RP021';
            END IF;
            PERFORM FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_;
            CONTINUE WHEN NOT FOUND;
            RETURN QUERY
            SELECT 'OK', (r.position - 1)::integer, NULL::bigint, r.key, p.at, 0, 'Pending'
            FROM {{ object("queue_operation") }} AS p
            CROSS JOIN LATERAL (
                SELECT e.value::timestamptz AS key, e.ordinality AS position
                FROM json_array_elements_text(p.result) WITH ORDINALITY AS e (value, ordinality)
            ) AS r
            WHERE p.operation_id = operation_
            ORDER BY r.position;
{%- endif %}
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            IF attempt_ = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
