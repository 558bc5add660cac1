        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer]
                FROM @Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            UPDATE {{ object("QueueOperation") }}
            SET [Result] = @Result
            WHERE [OperationId] = @Operation;
        END;
