
    /* Retries that were parked until now become pending again in the table, at their old places in the order. */
    SELECT {% for column in key %}ARRAY_AGG(q.{{ column.quoted }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ keys }}
    FROM (
        SELECT {% set of = "s.key_" %}{% include "adopted/_key_list.sql" %}
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE
            s.status = 'Error'
            AND s.due_at <= now_
        ORDER BY s.due_at
        LIMIT max_
    ) AS w
    CROSS JOIN LATERAL (
        SELECT {% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q
        WHERE {% set of = "w.key_" %}{% include "adopted/_at_key.sql" %}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q;
    IF key_1_ IS NOT NULL THEN
        /* Of those that somebody changed by hand, the table is right. */
        UPDATE {{ object(queue ~ "_lease") }} AS s
        SET status = v.item_status{% if role.due %}, due_at = v.item_due_at{% endif %}
        FROM {% include "adopted/_keys_unnested.sql" %}
        INNER JOIN LATERAL (
            {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        WHERE
            {% include "adopted/_lease_at_key.sql" %}
            AND s.status = 'Error'
            AND {% if role.due %}(v.item_status <> 'Error' OR v.item_due_at > now_){% else %}v.item_status <> 'Error'{% endif %};

        WITH decided AS MATERIALIZED (
            SELECT
                {% include "adopted/_key_list.sql" %},
                {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}'OK' AS answer,
                'Pending' AS status,
                GREATEST(now_, v.item_token + interval '1 microsecond') AS token,
                v.item_attempt AS attempt_num,
                v.item_step AS step,
                v.item_response AS response,
                v.item_error AS error,
                v.item_started_at AS started_at,
                v.item_started_at AS run_started_at,
                v.item_duration AS duration,
                v.item_due_at AS due_at,
                v.item_owner AS owner,
                NULL::timestamptz AS lease_until,
                v.item_died_at AS died_at,
                FALSE AS enters,
                FALSE AS finishes,
                FALSE AS reopens,
                TRUE AS stays
            FROM {% include "adopted/_keys_unnested.sql" %}
            INNER JOIN LATERAL (
                {% include "adopted/_view_at_key.sql" %}
            ) AS v
                ON TRUE
            WHERE
                v.item_status = 'Error'
                AND COALESCE(v.item_due_at <= now_, TRUE)
        ),

{% include "adopted/_write.sql" %}

        SELECT COUNT(*)
        INTO found_
        FROM changed;
    END IF;
