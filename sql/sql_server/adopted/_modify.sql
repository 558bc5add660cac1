{%- set redrive = false %}
{% include "adopted/_judge.sql" %}

        DELETE FROM @Change;
        INSERT INTO @Change (
            {{ n.names(key) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            {{ n.list(key, "x") }}, x.[Was], x.[Status], x.[AttemptNum], x.[Token], x.[Step], x.[Response], x.[Error],
            x.[StartedAt],
            CASE WHEN x.[Finished] = 1 THEN @Now END,
            CASE WHEN x.[Finished] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @Now) END,
            x.[DueAt],
            x.[LeaseOwner],
            x.[LeaseUntil],
            x.[Before]
        FROM (
            SELECT
                {{ n.list(key, "i") }},
                s.[UpdatedAt] AS [Before],
                w.[Was],
                w.[Status],
                w.[AttemptNum],
                w.[Token],
                COALESCE(i.[Step], {{ n.kept_text(role.step, "[Step]") }}) AS [Step],
                COALESCE(i.[Response], {{ n.kept_text(role.response, "[Response]") }}) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN w.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', w.[AttemptNum], N' of ', @MaxAttempts,
                            N'; asked for ', i.[Status], N'.'
                        )
                    /* What went wrong before is over. */
                    WHEN w.[Status] = 'Completed' THEN NULL
                    ELSE {{ n.kept_text(role.error, "[Error]") }}
                END AS [Error],
                CASE
                    WHEN w.[Status] = 'Processing' AND w.[Was] <> 'Processing' THEN @Now
                    ELSE {{ n.started(role, run_time, local_time) }}
                END AS [StartedAt],
                {{ object("QueueIsFinished_fn") }}(w.[Status]) AS [Finished],
                COALESCE(
                    i.[DueAt],
{%- if backoff %}
{% set was = "w.[Was]" %}{% filter indent(20, true) %}{% include "relational/_backoff.sql" %}{% endfilter %},
{%- endif %}
                    {{ "CASE WHEN w.[Status] = 'Error' THEN @Now END" if not role.due else "NULL" }}
                ) AS [DueAt],
                CASE
                    WHEN w.[Status] = 'Processing' AND w.[Was] <> 'Processing' THEN @Worker
                    ELSE {{ n.owner(role) }}
                END AS [LeaseOwner],
{%- if lease_sliding %}
                CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END AS [LeaseUntil]
{%- else %}
                /* The lease is fixed: a step goes on with what is left of it. */
                CASE
                    WHEN w.[Status] = 'Processing' AND w.[Was] = 'Processing'
                        THEN {{ n.until(role, foreign, local_time, "@SilentMs") }}
                    WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now)
                END AS [LeaseUntil]
{%- endif %}
            FROM @Item AS i
            INNER JOIN @Work AS w
                ON w.[Ordinal] = i.[Ordinal]
            INNER JOIN {{ table }} AS q
                ON {{ n.found(key, seek, "i") }}
            LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
                ON {{ n.same(key, "s", "i") }}
            WHERE w.[Answer] = 'OK'
        ) AS x
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- set guard = false %}
{%- set completes = true %}

{% include "adopted/_write.sql" %}
{%- if role.token %}

        UPDATE w
        SET [Token] = c.[Token]
        FROM @Work AS w
        INNER JOIN @Item AS i
            ON i.[Ordinal] = w.[Ordinal]
        INNER JOIN @Change AS c
            ON {{ n.same(key, "c", "i") }}
        WHERE w.[Answer] = 'OK';
{%- endif %}
