    INSERT INTO @Out ([Seq], [Answer], [EnqueuedAt], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + ROW_NUMBER() OVER (ORDER BY d.[ScheduledFor], d.[EnqueuedAt]),
        'CLAIMED', d.[EnqueuedAt], d.[UpdatedAt], d.[AttemptNum], d.[Status]
    FROM @Due AS d
    WHERE d.[Status] = 'Processing';

    /* Nothing to hand out: say when the next item is due, so that the worker can sleep exactly that long. */
    IF @@ROWCOUNT = 0
        INSERT INTO @Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000,
            'EMPTY',
            (
                SELECT TOP (1)
                    CASE
                        WHEN q.[ScheduledFor] <= SYSUTCDATETIME() THEN 0
                        ELSE DATEDIFF_BIG(MILLISECOND, SYSUTCDATETIME(), q.[ScheduledFor]) + 1
                    END
                FROM {{ object(queue) }} AS q WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Due]))
                WHERE q.[Status] IN ('Pending', 'Error')
                ORDER BY
                    q.[ScheduledFor],
                    q.[EnqueuedAt]
            );
