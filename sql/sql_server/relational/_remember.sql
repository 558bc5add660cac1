        /*
        First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
        */
        IF @Operation IS NOT NULL
        BEGIN
            INSERT INTO {{ object("QueueOperation") }} ([OperationId], [At])
            VALUES (@Operation, @Now);

            /* Answers are asked for again within minutes. One call in 64 clears what is older than an hour. */
            IF ABS(CHECKSUM(@Operation) % 64) = 0
                DELETE TOP (256) FROM {{ object("QueueOperation") }} WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                WHERE [At] < DATEADD(HOUR, -1, @Now);
        END;
