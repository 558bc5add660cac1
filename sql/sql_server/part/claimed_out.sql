    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status]){% set place = "COALESCE(d.[Place], d.[Seq])" if kind_searches or sought else "d.[Seq]" %}
{%- if beside %}
    SELECT
        1000000 + {{ place }},
        CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, @LeaseMs,
        {{ item.as_text(t, "w") }},
        {{ item.list(t, "w") }},
        w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Due AS d
    INNER JOIN @_Change AS w
        ON {{ item.same(t, "w", "d") }}
    WHERE w.[Status] = 'Processing';
{%- else %}
    SELECT
        1000000 + {{ place }},
        CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, @LeaseMs,
        {{ item.as_text(t, "d") }},
        {{ item.list(t, "d") }},
        d.[Token], d.[AttemptNum] + 1, 'Processing'
    FROM @_Due AS d
    WHERE {{ goes }};
{%- endif %}

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. Items that
    were due already are in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @_Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000, 'EMPTY',
            CASE
                WHEN @_Paused = 2
                    THEN (
                        SELECT MAX(DATEDIFF_BIG(MILLISECOND, @_Now, p.[Until]) + 1)
                        FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
                        WHERE p.[Queue] = '{{ queue }}' AND p.[Type] = N'' AND p.[Until] IS NOT NULL
                    )
                ELSE MIN(x.[DueMs])
            END
        FROM (
            /* The items here had spent their attempts, and ended: those behind them are due now. */
            SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
            UNION ALL
{%- if limits %}
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, @_FreeAt) + 1
            UNION ALL
{%- endif %}
{% include "part/next_due.sql" %}
        ) AS x
        WHERE x.[DueMs] IS NOT NULL;
