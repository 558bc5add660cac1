        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        INSERT INTO @Work ([Ordinal], [EnqueuedAt], [Answer], [Status], [Token], [AttemptNum])
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
                WHEN q.[AttemptNum] >= @MaxAttempts AND t.[ToStatus] <> 'Completed' THEN 'Failed'
                ELSE t.[ToStatus]
            END,
            CASE
                WHEN @Now > q.[UpdatedAt] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
            END,
            CASE
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN q.[AttemptNum] - 1
                /* Processing from another state is a claim of this one item. */
                WHEN q.[Status] <> 'Processing' AND i.[Status] = 'Processing' AND q.[AttemptNum] < @MaxAttempts
                    THEN q.[AttemptNum] + 1
                ELSE q.[AttemptNum]
            END
        FROM @Item AS i
        LEFT JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
{%- if own_types_only %}
{%- set own = "q" %}
            AND {% filter indent(8) %}{% include "relational/_own_type.sql" %}{% endfilter %}
{%- endif %}
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
        WHERE w.[Answer] NOT IN ('OK', 'NOT_FOUND')
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [Step] = COALESCE(i.[Step], q.[Step]),
            [Response] = COALESCE(i.[Response], q.[Response]),
            [Error] = CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN w.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                    THEN CONCAT(
                        N'Attempts are spent: ', q.[AttemptNum], N' of ', @MaxAttempts,
                        N'; asked for ', i.[Status], N'.'
                    )
                /* What went wrong before is over. */
                WHEN w.[Status] = 'Completed' THEN N''
                ELSE q.[Error]
            END,
            [ScheduledFor] = COALESCE(
                i.[ScheduledFor],
                DATEADD(MILLISECOND, i.[DelayMs] % 1000, DATEADD(SECOND, i.[DelayMs] / 1000, @Now)),
{%- if backoff %}
{% set was = "q.[Status]" %}{% filter indent(16, true) %}{% include "relational/_backoff.sql" %}{% endfilter %},
{%- endif %}
                q.[ScheduledFor]
            ),
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
{%- if lease_sliding %}
            [LeaseUntil] = CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END
{%- else %}
            /* The lease is fixed: a step goes on with what is left of it. */
            [LeaseUntil] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] = 'Processing' THEN q.[LeaseUntil]
                WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now)
            END
{%- endif %}
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'{{ " AND w.[Status] <> 'Completed'" if completion == "delete" }}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Changed = @@ROWCOUNT;
{%- if completion != "keep" %}
{% include "relational/_complete.sql" %}
{%- endif %}

        IF @Changed <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
