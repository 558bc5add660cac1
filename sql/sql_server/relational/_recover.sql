        /*
        Give back the items whose lease has run out, or fail them when their attempts are spent. The search
        takes no update locks: it may pass many items in flight whose leases are good, and no worker shall wait
        for it.
        */
        INSERT INTO @Expired ([EnqueuedAt])
        SELECT TOP (@RecoverMax) q.[EnqueuedAt]
        FROM {{ object(queue) }} AS q
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_InFlight]))
        WHERE
            q.[Status] = 'Processing'
            AND {% filter indent(12) %}{% include "relational/_given_up.sql" %}{% endfilter %}
        ORDER BY q.[StartedAt];

        IF @@ROWCOUNT > 0
        BEGIN
            INSERT INTO @Recovered ([EnqueuedAt], [AttemptNum], [Status], [UpdatedAt], [Error])
            SELECT
                q.[EnqueuedAt],
                q.[AttemptNum],
                CASE WHEN q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Error' END,
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
                    q.[AttemptNum], N' of ', @MaxAttempts, N'; the worker is taken for dead.'
                )
{%- else %}
                CONCAT(
                    N'The lease of worker ', q.[LeaseOwner], N' ran out on attempt ', q.[AttemptNum], N' of ',
                    @MaxAttempts, N'; the worker is taken for dead.'
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
                [LeaseUntil] = NULL,
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
