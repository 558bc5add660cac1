
    answer := 'EMPTY';
    answer_due_ms := (
{%- if own and own_types_only %}
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS t (type)
        CROSS JOIN LATERAL (
            SELECT q.{{ role.due }} AS due_at
            FROM {{ table }} AS q
            WHERE
                q.{{ role.kind }} = t.type
                AND {{ m.waiting() }}
                AND {{ m.due() }} > now_
            ORDER BY {{ m.due() }}
            LIMIT 1
        ) AS n
        WHERE {{ m.type_seen("t.type") }}
{%- else %}
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
{%- if role.due %}
{%- set due_at = m.due() if (own or due_in_order) and not index.name else "q." ~ role.due %}
            (
                SELECT {{ m.time("q." ~ role.due) }} AS due_at
                FROM {{ table }} AS q
                WHERE
                    {{ m.waiting() }}
                    AND {{ due_at }} > now_
                ORDER BY {{ due_at }}
                LIMIT 1
            )
{{ "            UNION ALL" if beside and parks_errors }}
{%- endif %}
{%- if beside and parks_errors %}
            (
                SELECT s.due_at
                FROM {{ object(queue ~ "_lease") }} AS s
                WHERE
                    s.status = 'Error'
                    AND s.due_at > now_
                ORDER BY s.due_at
                LIMIT 1
            )
{%- elif not role.due %}
            SELECT NULL::timestamptz AS due_at
{%- endif %}
        ) AS n
{%- endif %}
    );
