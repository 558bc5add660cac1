    SELECT o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum], o.[Status]
    FROM @_Out AS o
    ORDER BY o.[Seq];
