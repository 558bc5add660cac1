        /*
        Choose and lock the due items, in order. The locks are update locks on rows nobody else holds, kept to the
        end of the transaction, so the updates below never wait for another worker. An item with spent attempts (the
        limit was lowered, say) ends here instead of staying at the head of the queue.
        */
{%- if own_types_only %}
{% include "relational/_own_types.sql" %}
{%- else %}
{% include "relational/_take_due.sql" %}
        SET @Locked = @@ROWCOUNT;
{%- endif %}

        /*
        What came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
        such item, or with it where it is the first of all. The others are let go with the transaction.
        */
        SET @Alone = (SELECT MIN(d.[Seq]) FROM @Due AS d WHERE d.[Alone] = 1);
        IF @Alone IS NOT NULL
        BEGIN
            IF EXISTS (SELECT 1 FROM @Due AS d WHERE d.[Seq] < @Alone AND d.[Status] = 'Processing')
                SET @Alone = @Alone - 1;

            DELETE FROM @Due WHERE [Seq] > @Alone AND [Status] = 'Processing';
            SET @Locked = @Locked - @@ROWCOUNT;
        END;

        UPDATE q
        SET
            [Status] = 'Processing',
            [UpdatedAt] = d.[UpdatedAt],
            [AttemptNum] = d.[AttemptNum] + 1,
            [StartedAt] = @Now,
            [LeaseOwner] = @Worker,
            [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
        FROM @Due AS d
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = d.[EnqueuedAt]
        WHERE
            d.[Status] = 'Processing'
            AND q.[Status] IN ('Pending', 'Error')
            AND q.[ScheduledFor] <= @Now
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Claimed = @@ROWCOUNT;

        IF @Claimed < @Locked
        BEGIN
            UPDATE q
            SET
                [Status] = 'Failed',
                [UpdatedAt] = d.[UpdatedAt],
                [Error] = CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @MaxAttempts, N'.'),
                [LeaseUntil] = NULL
            FROM @Due AS d
            INNER JOIN {{ object(queue) }} AS q
                ON q.[EnqueuedAt] = d.[EnqueuedAt]
            WHERE
                d.[Status] = 'Failed'
                AND q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @Now
            OPTION (LOOP JOIN, FORCE ORDER);

            IF @Claimed + @@ROWCOUNT <> @Locked
                THROW 50005, N'{{ queue }}: a row that was locked for the claim changed all the same.', 1;
        END;
