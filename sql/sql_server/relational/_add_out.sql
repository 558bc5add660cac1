    SELECT
        'OK' AS [Answer],
        n.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        n.[EnqueuedAt] AS [Key],
        @Now AS [Token],
        0 AS [AttemptNum],
        'Pending' AS [Status]
    FROM @New AS n
    ORDER BY n.[Ordinal];
