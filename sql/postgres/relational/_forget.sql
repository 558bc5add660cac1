    /* Answers are asked for again within minutes. One call in 64 clears away what is older than an hour. */
    IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
        DELETE FROM {{ object("queue_operation") }} AS p
        WHERE p.operation_id IN (
            SELECT o.operation_id
            FROM {{ object("queue_operation") }} AS o
            WHERE o.at < now_ - interval '1 hour'
            ORDER BY o.at
            LIMIT 256
            FOR UPDATE SKIP LOCKED
        );
    END IF;
