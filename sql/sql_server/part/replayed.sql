        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF
            ERROR_NUMBER() <> 2627
            OR NOT EXISTS (
                SELECT 1 FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation
            )
            THROW;
        SET @_Replayed = 1;
