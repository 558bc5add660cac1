        /* All of them: what is answered for may be gone when it is asked for again. */
        IF @Operation IS NOT NULL
        BEGIN
            SET @Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer],
                    w.[Token] AS [token],
                    w.[AttemptNum] AS [attempt],
                    w.[Status] AS [status]
                FROM @Work AS w
                FOR JSON PATH
            );
            UPDATE {{ object("QueueOperation") }}
            SET [Result] = @Result
            WHERE [OperationId] = @Operation;
        END;
