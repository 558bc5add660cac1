{#- The milliseconds until the next item of the kinds at hand is due. `refused`: the table may refuse some now. -#}
(
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
{%- if refused %}
            (
                SELECT MIN(x.until) AS due_at
                FROM {{ object("queue_refused") }} AS x
                WHERE x.queue = '{{ queue }}' AND x.until > now_
            )
            UNION ALL
{%- endif %}
{%- if limits and of_claim %}
            SELECT room_.until AS due_at
            UNION ALL
{%- endif %}
{%- for search in kind_searches if role.due %}
            (
                SELECT {{ m.time("h.due_at") }} AS due_at
                FROM {{ m.kinds_unnested() }} AS w ({{ m.kind_columns() }})
                CROSS JOIN LATERAL (
                    SELECT q.{{ role.due }} AS due_at
                    FROM {{ table }} AS q
                    WHERE
                    {{ m.is_kind(search, "w") }}
                    AND {{ m.waiting() }}
                    AND {{ m.due() if due_in_order else "q." ~ role.due }} > now_
                    ORDER BY {{ m.due() if due_in_order else "q." ~ role.due }}
                    LIMIT 1
                ) AS h
{%- if not loop.last %}
                WHERE {{ m.kinds_given(search) }}
{%- elif not loop.first %}
                WHERE NOT ({% for other in kind_searches if other.step %}{{ m.kinds_given(other) }}{% endfor %})
{%- endif %}
            )
{{ "            UNION ALL" if not loop.last or searches_all or (beside and parks_errors) }}
{%- endfor %}
{%- if shards %}
            (
                SELECT h.due_at
                FROM {{ m.all_shards() }}
                CROSS JOIN LATERAL (
                    SELECT q.{{ role.due }} AS due_at
                    FROM {{ table }} AS q
                    WHERE
                    {{ m.shard() }} = g.shard
                    AND {{ m.waiting() }}
                    AND {{ m.due() }} > now_
                    ORDER BY {{ m.due() }}
                    LIMIT 1
                ) AS h
            )
{%- elif role.due and searches_all %}
{%- set due_at = m.due() if (own or due_in_order) and not index.name else "q." ~ role.due %}
            (
                SELECT {{ m.time("q." ~ role.due) }} AS due_at
                FROM {{ table }} AS q
                WHERE
                    {{ m.waiting() }}
                    AND {{ due_at }} > now_
{%- for search in kind_searches %}
                    AND NOT ({{ m.kinds_given(search) }})
{%- endfor %}
                ORDER BY {{ due_at }}
                LIMIT 1
            )
{{ "            UNION ALL" if beside and parks_errors }}
{%- endif %}
{%- if beside and parks_errors %}
            (
                SELECT s.due_at
                FROM {{ object(queue ~ "_lease") }} AS s
                WHERE s.status = 'Error' AND s.due_at > now_
                ORDER BY s.due_at
                LIMIT 1
            )
{%- elif not role.due %}
            SELECT NULL::timestamptz AS due_at
{%- endif %}
        ) AS n
        /* An item that is never due is nothing to wait for. */
        WHERE n.due_at < {{ m.never() if after else "'infinity'" }}
    )