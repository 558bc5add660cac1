        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
{%- if seek %}
        /* An item that moves to another place of the index while it is looked for can be missed, once. */
        WHILE @_Looks = 0 OR (@_Looks = 1 AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @_Looks = @_Looks + 1;
            DELETE FROM @_Work WHERE [Answer] = 'NOT_FOUND';
{%- endif %}
{% filter indent(4 if seek else 0, true) %}
        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum]{{ ", [Owner], [StartedAt], [Step]" if attempt_history and not redrive }})
        SELECT
            x.[Ordinal],
            a.[Answer],
            x.[Is],
            /* A refusal shows the item as it is. */
            CASE a.[Answer]
                WHEN 'NOT_FOUND' THEN NULL
                WHEN 'OK' THEN {{ "'Pending'" if redrive else judge.status(t.parks_errors) }}
                ELSE x.[Is]
            END,
            CASE WHEN a.[Answer] = 'OK' THEN {{ item.later(t, "x.[Token]") }} ELSE x.[Token] END,
            CASE a.[Answer]
                WHEN 'NOT_FOUND' THEN NULL
                WHEN 'OK' THEN {{ "0" if redrive else judge.attempts() }}
                ELSE x.[AttemptNum]
            END
{%- if attempt_history and not redrive %},
            x.[LeaseOwner],
            x.[StartedAt],
            x.[IsAt]
{%- endif %}
        FROM (
            SELECT
                i.[Ordinal],
                i.[Token] AS [Given],
{%- if not redrive %}
                i.[Status] AS [To],
                i.[Attempt],
                i.[Release],
                i.[DueAt],
{%- if steps %}
                i.[Step],
{%- endif %}
                CASE
                    WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1
                    ELSE 0
                END AS [HasData],
                {{ item.owner(t) }} AS [LeaseOwner],
{%- endif %}
{%- if attempt_history and not redrive %}
                {{ item.started(t) }} AS [StartedAt],
                {{ item.step(t) }} AS [IsAt],
{%- endif %}
                CASE WHEN q.{{ key[0].quoted }} IS NULL THEN 0 ELSE 1 END AS [Found],
                {{ item.status(t) }} AS [Is],
                {{ item.attempts(t) }} AS [AttemptNum],
                {{ item.token(t) }} AS [Token],
{%- if redrive and dedup and dedup.unfinished_only %}
{% include "part/redrive_same.sql" %}
{%- endif %}
                ROW_NUMBER() OVER (PARTITION BY {{ item.list(t, "i") }} ORDER BY i.[Ordinal]) AS [Place]
            FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY {{ item.list(t, "o") }}, o.[Ordinal]) AS i
            LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK)
                ON {{ item.found(t, "i") }}
{%- if own_types_only and not redrive %}
                AND {% filter indent(16) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if beside %}
            /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
            LEFT JOIN {{ t.lease }} AS s WITH (UPDLOCK, ROWLOCK)
                ON {{ item.kept_of(t) }}
{%- endif %}
        ) AS x
{%- if not redrive %}
        LEFT JOIN {{ object("QueueTransition") }} AS t
            ON t.[FromStatus] = x.[Is] AND t.[ToStatus] = x.[To]
{%- endif %}
        CROSS APPLY (
            SELECT
                CASE
                    WHEN x.[Found] = 0 THEN 'NOT_FOUND'
{%- if not redrive %}
                    WHEN
                        x.[Attempt] > 0
                        AND (
                            x.[Is] <> 'Processing'
                            OR x.[LeaseOwner] IS NULL
                            OR x.[LeaseOwner] <> @Worker
                            OR x.[AttemptNum] <> x.[Attempt]
                        )
                        THEN 'LEASE_LOST'
                    WHEN x.[Given] IS NULL AND x.[Attempt] > 0 THEN 'CONFLICT'
{%- endif %}
                    /* Where nothing of an item is kept yet, it is as it was put in: the answer of Add holds. */
                    WHEN x.[Given] <> x.[Token] THEN 'CONFLICT'
                    /* The same item twice in one call: the first of them counts. */
                    WHEN x.[Place] > 1 THEN 'CONFLICT'
{%- if redrive %}
                    WHEN x.[Is] IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
{%- if dedup and dedup.unfinished_only %}
                    /* The same work came again meanwhile, or comes back twice in this call. */
                    WHEN x.[Same] = 1 OR (x.[Turn] > 1 AND {{ item.finished("x.[Is]") }}) THEN 'DUPLICATE'
{%- endif %}
{%- else %}
                    WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
{%- if steps %}
                    /* A step that the queue has not. */
                    WHEN x.[Step] NOT IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}) THEN 'ILLEGAL_TRANSITION'
{%- endif %}
                    /* Response, error and values do not go to an item that its status closes to workers. */
                    WHEN
                        x.[HasData] = 1
                        AND x.[Is] IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
                        THEN 'ILLEGAL_TRANSITION'
{%- endif %}
                    ELSE 'OK'
                END AS [Answer]
        ) AS a
{%- if seek %}
        WHERE NOT EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Ordinal] = x.[Ordinal])
{%- endif %}
        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- endfilter %}
{%- if seek %}
        END;
{%- endif %}
