{#- In which turns the keys with room are taken: each gets its share, and then what is left of its room. -#}
    turns AS MATERIALIZED (
        SELECT t.*
        FROM (
            SELECT 1 AS round, k.turn, k.key, 0 AS past, LEAST(k.room, share_) AS most
            FROM UNNEST(limit_keys_, limit_rooms_) WITH ORDINALITY AS k (key, room, turn)
            UNION ALL
            SELECT 2, k.turn, k.key, share_, k.room - share_
            FROM UNNEST(limit_keys_, limit_rooms_) WITH ORDINALITY AS k (key, room, turn)
            WHERE k.room > share_
        ) AS t
        ORDER BY t.round, t.turn
    ),

