
    /* Parked retries that are due become pending again, at their old places: more than are claimed, or priority would not lead. */
    SELECT {{ m.arrays() }}
    INTO {{ m.list("key_", "_") }}
    FROM (
        SELECT {{ m.list("s.key_") }}
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE s.status = 'Error' AND s.due_at <= now_
{%- if apart %}
            AND {{ m.not_refused(m.key_kept("s.key_")) }}
{%- endif %}
        ORDER BY s.due_at
        LIMIT 1000
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
        FROM {{ m.keys_tried() if apart else m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", []) }}
        ) AS v ON TRUE
        WHERE
            {{ m.lease_at_key("k.key_") }}
            AND s.status = 'Error'
            AND {% if role.due %}(v.item_status <> 'Error' OR v.item_due_at > now_){% else %}v.item_status <> 'Error'{% endif %};

        WITH decided AS MATERIALIZED (
            SELECT
                {{ m.list("k.key_") }},
                {{ m.seeks("v.item_seek_", "seek_") }}'OK' AS answer,
                {{ "CASE WHEN e.ends THEN 'Failed' ELSE 'Pending' END" if apart else "'Pending'" }} AS status,
                {{ m.later("v.item_token") }} AS token,
                v.item_attempt AS attempt_num, v.item_step AS step, v.item_response AS response,
{%- if apart %}
                CASE
                    WHEN e.ends
                        THEN format('The table refused %s times to have it given back: %s', x.attempts, x.reason)
                    ELSE v.item_error
                END AS error,
{%- else %}
                v.item_error AS error,
{%- endif %}
                v.item_started_at AS started_at, v.item_started_at AS run_started_at, v.item_duration AS duration,
                v.item_due_at AS due_at, v.item_owner AS owner, NULL::timestamptz AS lease_until,
                {{ "CASE WHEN NOT e.ends THEN v.item_died_at END" if apart else "v.item_died_at" }} AS died_at,
                FALSE AS enters,
                {{ "e.ends" if apart else "FALSE" }} AS finishes,
                FALSE AS reopens, TRUE AS stays
            FROM {{ m.keys_tried() if apart else m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) }}
            ) AS v ON TRUE
{%- if apart %}
            LEFT JOIN {{ object("queue_refused") }} AS x
                ON x.queue = '{{ queue }}' AND x.key = {{ m.key_kept("k.key_") }}
            CROSS JOIN LATERAL (
                SELECT COALESCE(x.attempts > 0 AND v.item_attempt + x.attempts >= max_attempts_, FALSE) AS ends
            ) AS e
{%- endif %}
            WHERE v.item_status = 'Error' AND COALESCE(v.item_due_at <= now_, TRUE)
        ),

{% import "part/write.sql" as write %}{{ write.changed() }}

        SELECT COUNT(*){% if apart %}, COALESCE(ARRAY_AGG({{ m.key_kept("c.key_") }}), '{}'){% endif %}
        INTO found_{{ ", done_" if apart }}
        FROM changed AS c;
{%- endset %}
{%- if apart %}
{%- import "part/narrow.sql" as narrow %}
    IF key_1_ IS NOT NULL THEN
{{ narrow.narrow("claim", body) | indent(4, true) }}
    END IF;
{%- else %}
    IF key_1_ IS NOT NULL THEN
{{- body }}
    END IF;
{%- endif %}
