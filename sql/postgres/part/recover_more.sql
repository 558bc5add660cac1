    IF turn_ AND found_ >= max_ THEN
        /* There may be more of them: the next who comes goes on at once. */
        UPDATE {{ object("queue_recovery") }} AS r
        SET recovered_at = '-infinity'
        WHERE r.queue = '{{ queue }}';
    END IF;
