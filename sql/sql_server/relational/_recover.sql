        /*
        Give back the items whose lease has run out, or fail them when their attempts are spent. The search
        takes no update locks: it may pass many items in flight whose leases are good, and no worker shall wait
        for it.
        */
        INSERT INTO @Expired ([EnqueuedAt], [StartedAt])
        SELECT TOP (@RecoverMax)
            q.[EnqueuedAt],
            q.[StartedAt]
        FROM {{ object(queue) }} AS q
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_InFlight]))
        WHERE
            q.[Status] = 'Processing'
            AND {% filter indent(12) %}{% include "relational/_given_up.sql" %}{% endfilter %}
        ORDER BY q.[StartedAt];
        SET @Locked = @@ROWCOUNT;

        IF @Locked = @RecoverMax
            /* All that is left of the last claim: a chunk must not split one. */
            INSERT INTO @Expired ([EnqueuedAt], [StartedAt])
            SELECT
                q.[EnqueuedAt],
                q.[StartedAt]
            FROM {{ object(queue) }} AS q
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_InFlight]))
            WHERE
                q.[Status] = 'Processing'
                AND q.[StartedAt] = (SELECT MAX(e.[StartedAt]) FROM @Expired AS e)
                AND {% filter indent(16) %}{% include "relational/_given_up.sql" %}{% endfilter %}
                AND NOT EXISTS (SELECT 1 FROM @Expired AS e WHERE e.[EnqueuedAt] = q.[EnqueuedAt]);

        IF @Locked > 0
        BEGIN
            /*
            Of what was claimed together, nobody knows which was begun. Read without locks: another recovery may have
            the rest of it in hands.
            */
            UPDATE e
            SET [Together] = 1
            FROM @Expired AS e
            INNER JOIN {{ object(queue) }} AS q WITH (READUNCOMMITTED)
                ON q.[EnqueuedAt] = e.[EnqueuedAt]
            WHERE
                q.[Status] = 'Processing'
                AND EXISTS (
                    SELECT 1
                    FROM {{ object(queue) }} AS o WITH (READUNCOMMITTED, INDEX ([IX_{{ queue }}_InFlight]))
                    WHERE
                        o.[Status] = 'Processing'
                        AND o.[StartedAt] = q.[StartedAt]
                        AND o.[LeaseOwner] = q.[LeaseOwner]
                        AND o.[EnqueuedAt] <> q.[EnqueuedAt]
                )
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO @Recovered ([EnqueuedAt], [AttemptNum], [Status], [UpdatedAt], [Error])
            SELECT
                q.[EnqueuedAt],
                q.[AttemptNum] - e.[Together],
                CASE WHEN e.[Together] = 0 AND q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Error' END,
                CASE
                    WHEN @Now > q.[UpdatedAt] THEN @Now
                    ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
                END,
{%- if resume_own %}
                CONCAT(
                    CASE
                        WHEN q.[LeaseUntil] > @Now THEN N'Worker ' + q.[LeaseOwner] + N' began anew on attempt '
                        ELSE N'The lease of worker ' + q.[LeaseOwner] + N' ran out on attempt '
                    END,
                    q.[AttemptNum], N' of ', @MaxAttempts, N'; the worker is taken for dead.',
                    CASE
                        WHEN e.[Together] = 1
                            THEN N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                    END
                )
{%- else %}
                CONCAT(
                    N'The lease of worker ', q.[LeaseOwner], N' ran out on attempt ', q.[AttemptNum], N' of ',
                    @MaxAttempts, N'; the worker is taken for dead.',
                    CASE
                        WHEN e.[Together] = 1
                            THEN N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                    END
                )
{%- endif %}
            FROM @Expired AS e
            INNER JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON q.[EnqueuedAt] = e.[EnqueuedAt]
            WHERE
                q.[Status] = 'Processing'
                AND {% filter indent(16) %}{% include "relational/_given_up.sql" %}{% endfilter %}
            OPTION (LOOP JOIN, FORCE ORDER);

            UPDATE q
            SET
                [Status] = r.[Status],
                [UpdatedAt] = r.[UpdatedAt],
                [Error] = r.[Error],
                [AttemptNum] = r.[AttemptNum],
                /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                [LeaseUntil] = CASE
                    WHEN r.[Status] <> 'Failed' AND q.[LeaseUntil] > @Now THEN @Now
                    WHEN r.[Status] <> 'Failed' THEN q.[LeaseUntil]
                END,
                [Duration] = CASE
                    WHEN r.[Status] = 'Failed' THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @Now)
                    ELSE q.[Duration]
                END
            FROM @Recovered AS r
            INNER JOIN {{ object(queue) }} AS q
                ON q.[EnqueuedAt] = r.[EnqueuedAt]
            WHERE
                q.[Status] = 'Processing'
                AND {% filter indent(16) %}{% include "relational/_given_up.sql" %}{% endfilter %}
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
