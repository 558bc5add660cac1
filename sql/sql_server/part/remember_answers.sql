        /* An item that was OK is read back from the items. */
        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @_Result = (
                SELECT w.[Ordinal] AS [ordinal], w.[Answer] AS [answer]
                FROM @_Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            EXECUTE {{ object("QueueOperationKeep") }} @Operation, @_Result;
        END;
