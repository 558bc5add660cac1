        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        v.[EnqueuedAt] AS [Key],
        v.[UpdatedAt] AS [Token],
        v.[AttemptNum],
        v.[Status],
        v.*
