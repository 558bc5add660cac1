        IF @Operation IS NOT NULL
        BEGIN
            SET @_Result = (
                SELECT
                    a.[Ordinal] AS [ordinal],
                    a.[Answer] AS [answer],
                    a.[Key] AS [key]
                FROM @_Added AS a
                FOR JSON PATH
            );
            UPDATE {{ object("QueueOperation") }} WITH (ROWLOCK)
            SET [Result] = @_Result
            WHERE [OperationId] = @Operation;
        END;
