{#- In which turns the keys with room are taken: each gets its share, and then what is left of its room. -#}
    turns AS MATERIALIZED (
        SELECT r.round, k.turn, k.key, r.past, r.most
        FROM UNNEST(room_.keys, room_.rooms) WITH ORDINALITY AS k (key, room, turn)
        CROSS JOIN LATERAL (SELECT CEIL(max_::numeric / GREATEST(CARDINALITY(room_.keys), 1))::integer AS size) AS share
        CROSS JOIN LATERAL (
            VALUES (1, 0, LEAST(k.room, share.size)), (2, share.size, k.room - share.size)
        ) AS r (round, past, most)
        WHERE r.most > 0
        ORDER BY r.round, k.turn
    ),

