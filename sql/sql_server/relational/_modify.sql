        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        INSERT INTO @Work (
            [Ordinal], [EnqueuedAt], [Answer], [Status], [Asked], [Token], [AttemptNum], [Step], [Response],
            [Error], [ScheduledFor]
        )
        SELECT
            i.[Ordinal],
            i.[EnqueuedAt],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN
                    i.[Attempt] > 0
                    AND (
                        q.[Status] <> 'Processing'
                        OR q.[LeaseOwner] IS NULL
                        OR q.[LeaseOwner] <> @Worker
                        OR q.[AttemptNum] <> i.[Attempt]
                    )
                    THEN 'LEASE_LOST'
                WHEN i.[Token] IS NOT NULL AND i.[Token] <> q.[UpdatedAt] THEN 'CONFLICT'
                WHEN i.[Token] IS NULL AND i.[Attempt] > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN ROW_NUMBER() OVER (PARTITION BY i.[EnqueuedAt] ORDER BY i.[Ordinal]) > 1 THEN 'CONFLICT'
                WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL)
                    AND {{ object("QueueIsEditable_fn") }}(q.[Status]) = 0
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END,
            CASE
                WHEN t.[ToStatus] IS NULL THEN q.[Status]
                /* A step keeps the claim, and the attempt is not over. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN 'Pending'
                WHEN q.[AttemptNum] >= @MaxAttempts AND i.[Status] <> 'Completed' THEN 'Failed'
                ELSE i.[Status]
            END,
            i.[Status],
            CASE WHEN @Now > q.[UpdatedAt] THEN @Now ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7))) END,
            CASE
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN q.[AttemptNum] - 1
                /* Processing from another state is a claim of this one item. */
                WHEN q.[Status] <> 'Processing' AND i.[Status] = 'Processing' AND q.[AttemptNum] < @MaxAttempts
                    THEN q.[AttemptNum] + 1
                ELSE q.[AttemptNum]
            END,
            i.[Step],
            i.[Response],
            i.[Error],
            COALESCE(i.[ScheduledFor], DATEADD(MILLISECOND, i.[DelayMs] % 1000, DATEADD(SECOND, i.[DelayMs] / 1000, @Now)))
        FROM @Item AS i
        LEFT JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        LEFT JOIN {{ object("QueueTransition") }} AS t
            ON t.[FromStatus] = q.[Status] AND t.[ToStatus] = i.[Status]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* What is refused shows the item as it is. */
        UPDATE w
        SET
            [Status] = q.[Status],
            [Token] = q.[UpdatedAt],
            [AttemptNum] = q.[AttemptNum]
        FROM @Work AS w
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] <> 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [Step] = ISNULL(w.[Step], q.[Step]),
            [Response] = ISNULL(w.[Response], q.[Response]),
            [Error] = CASE
                WHEN w.[Error] IS NOT NULL THEN w.[Error]
                WHEN w.[Status] = 'Failed' AND w.[Asked] <> 'Failed'
                    THEN CONCAT(
                        N'Attempts are spent: ', q.[AttemptNum], N' of ', @MaxAttempts, N'; asked for ', w.[Asked], N'.'
                    )
                ELSE q.[Error]
            END,
            [ScheduledFor] = ISNULL(w.[ScheduledFor], q.[ScheduledFor]),
            [StartedAt] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Now
                ELSE q.[StartedAt]
            END,
            [Duration] = CASE
                WHEN {{ object("QueueIsFinished_fn") }}(w.[Status]) = 1
                    THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @Now)
                ELSE q.[Duration]
            END,
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Worker
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END
        FROM @Work AS w
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
