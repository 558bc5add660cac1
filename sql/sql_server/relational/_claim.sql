        /*
        Choose and lock the due items, in order. The locks are update locks on rows nobody else holds, kept to the end
        of the transaction, so the update below never waits for another worker.
        */
        INSERT INTO @Due ([EnqueuedAt], [ScheduledFor], [AttemptNum], [UpdatedAt], [Status])
        SELECT TOP (@Max)
            q.[EnqueuedAt],
            q.[ScheduledFor],
            q.[AttemptNum] + 1,
            CASE WHEN @Now > q.[UpdatedAt] THEN @Now ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7))) END,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Processing' END
        FROM {{ object(queue) }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Due]))
        WHERE
            q.[Status] IN ('Pending', 'Error')
            AND q.[ScheduledFor] <= @Now
        ORDER BY
            q.[ScheduledFor],
            q.[EnqueuedAt];

        UPDATE q
        SET
            [Status] = d.[Status],
            [UpdatedAt] = d.[UpdatedAt],
            [AttemptNum] = CASE WHEN d.[Status] = 'Processing' THEN d.[AttemptNum] ELSE q.[AttemptNum] END,
            [StartedAt] = CASE WHEN d.[Status] = 'Processing' THEN @Now ELSE q.[StartedAt] END,
            [Error] = CASE
                WHEN d.[Status] = 'Processing' THEN q.[Error]
                ELSE CONCAT(N'Attempts are spent: ', q.[AttemptNum], N' of ', @MaxAttempts, N'.')
            END,
            [LeaseOwner] = CASE WHEN d.[Status] = 'Processing' THEN @Worker ELSE q.[LeaseOwner] END,
            [LeaseUntil] = CASE WHEN d.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END
        FROM @Due AS d
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = d.[EnqueuedAt]
        WHERE
            q.[Status] IN ('Pending', 'Error')
            AND q.[ScheduledFor] <= @Now
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @Due)
            THROW 50005, N'{{ queue }}: a row that was locked for the claim changed all the same.', 1;
