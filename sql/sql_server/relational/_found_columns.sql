        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        q.[EnqueuedAt] AS [Key],
        q.[UpdatedAt] AS [Token],
        q.[AttemptNum],
        q.[Status],
        q.*
