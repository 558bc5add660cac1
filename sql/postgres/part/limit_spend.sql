{#- The starts of this claim count against the rates. -#}
{%- for l in limits if l.rate %}
    INSERT INTO {{ object("queue_limit") }} AS x (queue, by, key, has_rate, tokens, tokens_at, full_at)
    SELECT '{{ queue }}', {{ text(l.name or "") }}, t.key, TRUE, r.tokens - t.items, now_,
        now_ + (r.burst - r.tokens + t.items) * r.rate_ms / r.rate * interval '1 millisecond'
    FROM (
        SELECT {{ m.limit_key(l) if l.by else "''" }} AS key, COUNT(*) AS items
        FROM {{ table }} AS q
        WHERE {{ m.stands(processing) }} AND q.{{ role.started }} BETWEEN now_ AND now_ AND q.{{ role.owner }} = worker_
        GROUP BY 1
    ) AS t
    CROSS JOIN LATERAL {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(t.key, now_) AS r
{%- if l.by %}
    WHERE t.key <> ''
{%- endif %}
    ON CONFLICT (queue, by, key) DO UPDATE SET tokens = excluded.tokens, tokens_at = excluded.tokens_at, full_at = excluded.full_at;
{%- endfor %}
