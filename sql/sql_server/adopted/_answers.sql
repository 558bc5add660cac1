    IF @Replayed = 1
    BEGIN
        DELETE FROM @Work;
        SET @Result = (SELECT p.[Result] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Work ([Ordinal], [Answer], [Token], [AttemptNum], [Status])
        SELECT r.[ordinal], r.[answer], r.[token], r.[attempt], r.[status]
        FROM OPENJSON(@Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [token] datetime2(7) '$.token',
            [attempt] int '$.attempt', [status] varchar(20) '$.status'
        ) AS r;
    END;

    INSERT INTO @Out ([Seq], [Answer], [Ordinal], [Key], [Token], [AttemptNum], [Status])
    SELECT w.[Ordinal], w.[Answer], w.[Ordinal], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @Work AS w
    INNER JOIN @Item AS i
        ON i.[Ordinal] = w.[Ordinal];
