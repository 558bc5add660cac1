    IF found_ >= max_ THEN
        /* There may be more of them: the next who comes goes on at once. Nobody waits here for another's turn. */
        UPDATE {{ object("queue_recovery") }} AS r
        SET recovered_at = '-infinity'
        FROM (
            SELECT d.queue FROM {{ object("queue_recovery") }} AS d WHERE d.queue = '{{ queue }}' FOR NO KEY UPDATE SKIP LOCKED
        ) AS d
        WHERE r.queue = d.queue;
    END IF;