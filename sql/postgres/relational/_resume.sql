    IF recover_ = 2 THEN
        WITH own AS MATERIALIZED (
            SELECT q.enqueued_at
            FROM {{ object(queue) }} AS q
            WHERE
                q.status = 'Processing'
                AND q.lease_owner = worker_
            ORDER BY q.started_at
            LIMIT 100
            FOR NO KEY UPDATE SKIP LOCKED
        )

        UPDATE {{ object(queue) }} AS q
        SET
            status = CASE WHEN q.attempt_num >= max_attempts_ THEN 'Failed' ELSE 'Error' END,
            updated_at = GREATEST(clock_timestamp(), q.updated_at + interval '1 microsecond'),
            error = format(
                'Worker %s began anew on attempt %s of %s; the worker is taken for dead.',
                q.lease_owner, q.attempt_num, max_attempts_
            ),
            lease_until = NULL,
            duration = CASE
                WHEN q.attempt_num >= max_attempts_ THEN EXTRACT(EPOCH FROM clock_timestamp() - q.started_at) * 1000
                ELSE q.duration
            END
        FROM own AS o
        /* They are locked and found in flight: the key is enough. */
        WHERE q.enqueued_at BETWEEN o.enqueued_at AND o.enqueued_at;
    END IF;
