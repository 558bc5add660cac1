    /* Answers are asked for again within minutes. One call in 64 clears away what is older than an hour. */
    IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
        WITH old AS MATERIALIZED (
            SELECT o.operation_id
            FROM {{ object("queue_operation") }} AS o
            WHERE o.at < now_ - interval '1 hour'
            ORDER BY o.at
            LIMIT 256
            FOR UPDATE SKIP LOCKED
        )

        DELETE FROM {{ object("queue_operation") }} AS p
        USING old AS o
        WHERE p.operation_id BETWEEN o.operation_id AND o.operation_id;
    END IF;
