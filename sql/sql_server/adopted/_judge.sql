        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
{%- if seek %}
        /* What moves to another place of the index while it is looked for can be missed, once. */
        WHILE @Looks = 0 OR (@Looks = 1 AND EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @Looks = @Looks + 1;
            DELETE FROM @Work WHERE [Answer] = 'NOT_FOUND';
{%- endif %}
{% filter indent(4 if seek else 0, true) %}
        INSERT INTO @Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT
            x.[Ordinal],
            CASE
                WHEN x.[Found] = 0 THEN 'NOT_FOUND'
{%- if redrive %}
                WHEN x.[Given] IS NOT NULL AND (x.[Token] IS NULL OR x.[Given] <> x.[Token]) THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN x.[Place] > 1 THEN 'CONFLICT'
                WHEN x.[Is] IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
{%- else %}
                WHEN
                    x.[Attempt] > 0
                    AND (
                        x.[Is] <> 'Processing'
                        OR x.[LeaseOwner] IS NULL
                        OR x.[LeaseOwner] <> @Worker
                        OR x.[AttemptNum] <> x.[Attempt]
                    )
                    THEN 'LEASE_LOST'
                WHEN x.[Given] IS NOT NULL AND (x.[Token] IS NULL OR x.[Given] <> x.[Token]) THEN 'CONFLICT'
                WHEN x.[Given] IS NULL AND x.[Attempt] > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN x.[Place] > 1 THEN 'CONFLICT'
                WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN x.[HasData] = 1 AND {{ object("QueueIsEditable_fn") }}(x.[Is]) = 0 THEN 'ILLEGAL_TRANSITION'
{%- endif %}
                ELSE 'OK'
            END,
            x.[Is],
{%- if redrive %}
            'Pending',
            x.[Token],
            0
{%- else %}
            CASE
                /* A step keeps the claim, and the attempt is not over. */
                WHEN x.[Is] = 'Processing' AND t.[ToStatus] = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN
                    x.[AttemptNum] >= @MaxAttempts
                    AND t.[ToStatus] <> 'Completed'
                    AND NOT (x.[Is] = 'Processing' AND t.[ToStatus] = 'Pending' AND x.[Release] = 1)
                    THEN 'Failed'
{%- if parks_errors %}
                /* The table has no due time: what waits for its time stands as Error until then. */
                WHEN t.[ToStatus] = 'Pending' AND x.[DueAt] > @Now THEN 'Error'
{%- endif %}
                ELSE t.[ToStatus]
            END,
            x.[Token],
            CASE
                WHEN x.[Is] = 'Processing' AND t.[ToStatus] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                /* Processing from another state is a claim of this one item. */
                WHEN x.[Is] <> 'Processing' AND t.[ToStatus] = 'Processing' AND x.[AttemptNum] < @MaxAttempts
                    THEN x.[AttemptNum] + 1
                ELSE x.[AttemptNum]
            END
{%- endif %}
        FROM (
            SELECT
                i.[Ordinal],
                i.[Token] AS [Given],
                i.[Status] AS [To],
                i.[Attempt],
                i.[Release],
                i.[DueAt],
                CASE WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL THEN 1 ELSE 0 END AS [HasData],
                CASE WHEN q.{{ key[0].quoted }} IS NULL THEN 0 ELSE 1 END AS [Found],
{% filter indent(16, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [Is],
                {{ n.attempts(role) }} AS [AttemptNum],
                {{ n.owner(role) }} AS [LeaseOwner],
                {{ n.token(role) }} AS [Token],
                ROW_NUMBER() OVER (PARTITION BY {{ n.list(key, "i") }} ORDER BY i.[Ordinal]) AS [Place]
            FROM @Item AS i
            LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK)
                ON {{ n.found(key, seek, "i") }}
{%- if own_types_only %}
                AND {% filter indent(16) %}{% include "adopted/_type_access.sql" %}{% endfilter %}
{%- endif %}
            /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
            LEFT JOIN {{ object(queue ~ "_Lease") }} AS s WITH (UPDLOCK, ROWLOCK)
                ON {{ n.same(key, "s", "q") }}
        ) AS x
{%- if not redrive %}
        LEFT JOIN {{ object("QueueTransition") }} AS t
            ON t.[FromStatus] = x.[Is] AND t.[ToStatus] = x.[To]
{%- endif %}
{%- if seek %}
        WHERE NOT EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Ordinal] = x.[Ordinal])
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endfilter %}
{%- if seek %}
        END;
{%- endif %}

        UPDATE @Work
        SET
            [Status] = CASE WHEN [Answer] = 'NOT_FOUND' THEN NULL ELSE [Was] END,
            [AttemptNum] = CASE WHEN [Answer] = 'NOT_FOUND' THEN NULL ELSE [AttemptNum] END
        WHERE [Answer] <> 'OK';

        UPDATE @Work
        SET [Token] = {{ n.later("[Token]", "@At" if role.token else "@Now") }}
        WHERE [Answer] = 'OK';
