        IF NOT EXISTS (
            SELECT 1
            FROM {{ object("QueueOperation") }} AS p
            WHERE p.[OperationId] = @Operation AND p.[Call] = '{{ procedure[:-4] }}'
        )
            THROW 50021, N'{{ procedure }}: the operation was another call.', 1;

