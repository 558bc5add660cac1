    SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
