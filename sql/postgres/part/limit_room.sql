{#- How much may begin now: max_ becomes no more than that, and the keys with room come into the arrays. -#}
{%- for l in limits if not l.by %}
    SELECT LEAST(max_, l.room), l.free_at
    INTO max_, limited_until_
    FROM {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}('', now_) AS l;
{%- endfor %}
{%- if sought %}
    IF max_ > 0 THEN
        SELECT
            COALESCE(ARRAY_AGG(r.key) FILTER (WHERE r.room > 0), '{}'), COALESCE(ARRAY_AGG(r.room) FILTER (WHERE r.room > 0), '{}'),
            MIN(r.free_at), (ARRAY_AGG(r.key))[COUNT(*)]
        INTO limit_keys_, limit_rooms_, limited_until_, last_
        FROM {{ object("room_" ~ queue) }}(max_, now_) AS r;
        share_ := CEIL(max_::numeric / GREATEST(CARDINALITY(limit_keys_), 1));
        UPDATE {{ object("queue_turn") }} AS t
        SET position = last_
        WHERE t.queue = '{{ queue }}' AND last_ IS DISTINCT FROM t.position AND last_ IS NOT NULL;
    END IF;
{%- endif %}
{%- for l in limits if l.by and l.nth != sought.nth %}
    SELECT COALESCE(ARRAY_AGG(k.key), '{}'){{ ", LEAST(limited_until_, MIN(r.free_at))" if l.rate }}
    INTO blocked_{{ l.nth }}_{{ ", limited_until_" if l.rate }}
    FROM (
        SELECT {{ m.limit_key(l) }} AS key
        FROM {{ table }} AS q
        WHERE {{ m.stands(processing) }}
        UNION
        SELECT x.key
        FROM {{ object("queue_limit") }} AS x
        WHERE x.queue = '{{ queue }}' AND x.by = {{ text(l.name) }}
    ) AS k
    CROSS JOIN LATERAL {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(k.key, now_) AS r
    WHERE k.key <> '' AND r.room < 1;
{%- endfor %}
