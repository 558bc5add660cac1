    /* The oldest claims first, each with all that is left of it: a chunk must not split one. */
    WITH dead AS MATERIALIZED (
        SELECT DISTINCT
            c.started_at,
            c.lease_owner
        FROM (
            SELECT
                q.started_at,
                q.lease_owner
            FROM {{ object(queue) }} AS q
            WHERE
                q.status = 'Processing'
                AND {{ given_up }}
            ORDER BY q.started_at
            LIMIT {{ most }}
        ) AS c
    ),

    expired AS MATERIALIZED (
        SELECT
            q.enqueued_at,
            /*
            Of what was claimed together, nobody knows which was begun. Asked of the table and not of what is locked
            here: another recovery may have the rest of it in hands.
            */
            EXISTS (
                SELECT 1
                FROM {{ object(queue) }} AS o
                WHERE
                    o.status = 'Processing'
                    AND o.started_at BETWEEN q.started_at AND q.started_at
                    AND o.lease_owner = q.lease_owner
                    AND o.enqueued_at <> q.enqueued_at
            ) AS together
        FROM dead AS d
        CROSS JOIN LATERAL (
            SELECT
                q.enqueued_at,
                q.started_at,
                q.lease_owner
            FROM {{ object(queue) }} AS q
            WHERE
                q.status = 'Processing'
                AND q.started_at BETWEEN d.started_at AND d.started_at
                AND q.lease_owner = d.lease_owner
                AND {{ given_up }}
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS q
    ),

    recovered AS (
        UPDATE {{ object(queue) }} AS q
        SET
            status = CASE WHEN e.together OR q.attempt_num < max_attempts_ THEN 'Error' ELSE 'Failed' END,
            updated_at = GREATEST(now_, q.updated_at + interval '1 microsecond'),
            attempt_num = q.attempt_num - e.together::integer,
            error = format(
                {{ reason }},
                q.lease_owner, q.attempt_num, max_attempts_
            ) || CASE
                WHEN e.together
                    THEN ' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                ELSE ''
            END,
            /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
            lease_until = CASE WHEN e.together OR q.attempt_num < max_attempts_ THEN LEAST(q.lease_until, now_) END,
            duration = CASE
                WHEN e.together OR q.attempt_num < max_attempts_ THEN q.duration
                ELSE EXTRACT(EPOCH FROM now_ - q.started_at) * 1000
            END
        FROM expired AS e
        /* They are locked and found given up: the key is enough. */
        WHERE q.enqueued_at BETWEEN e.enqueued_at AND e.enqueued_at
        RETURNING q.enqueued_at, q.updated_at, q.attempt_num, q.status
    )
