{#- For how long the oldest item that has room has been due, NULL where none has. No look in a transaction counts what is in work now. #}

    IF current_setting('transaction_isolation') = 'read committed' THEN
        SELECT r.* INTO room_ FROM {{ object("room_" ~ queue) }}(100, now_, TRUE) AS r;
        RETURN QUERY
        SELECT
            'due.startable_ms', MAX(COALESCE(GREATEST(0, {{ m.ms("COALESCE(h.due_at, h.enqueued_at)", "now_") }}), 0)), FALSE, NULL::bigint,
            NULL::text, NULL::text
        FROM {{ "UNNEST(room_.keys)" if sought else "(SELECT '' WHERE room_.most > 0)" }} AS k (key)
        CROSS JOIN LATERAL (
            SELECT {{ m.time("q." ~ role.due) if role.due else "NULL::timestamptz" }} AS due_at, {{ m.of("enqueued_at") }} AS enqueued_at
            FROM {{ "(\n                SELECT q.*\n                FROM " ~ table if filters else table }} AS q
            WHERE
                {{ m.waiting() }}
{%- if sought %}
                AND {{ m.limit_key(sought) }} = k.key
{%- endif %}
{%- if role.due %}
                AND {{ m.is_due() }}
{%- endif %}
            ORDER BY {{ m.by_due() }}
{%- if filters %}
                LIMIT 1000
            ) AS q
            WHERE {% for l in filters %}{{ "AND " if not loop.first }}{{ m.limit_key(l) }} <> ALL (room_.blocked_{{ l.nth }}){{ " " if not loop.last }}{% endfor %}
            ORDER BY {{ m.by_due() }}
{%- endif %}
            LIMIT 1
        ) AS h;
    END IF;
