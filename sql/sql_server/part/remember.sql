        /*
        First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
        */
        IF @Operation IS NOT NULL
        BEGIN
            INSERT INTO {{ object("QueueOperation") }} ([OperationId], [At])
            VALUES (@Operation, @_Now);

            /*
            Answers are asked for again within minutes. One call in 64 clears what is older than an hour: where the
            library's own identities begin, which are in the order of time, and at some place among all others.
            */
            IF ABS(CHECKSUM(@Operation) % 64) = 0
            BEGIN
                DELETE p
                FROM (
                    SELECT TOP (512) o.[OperationId]
                    FROM {{ object("QueueOperation") }} AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ORDER BY o.[OperationId]
                ) AS f
                INNER JOIN {{ object("QueueOperation") }} AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON p.[OperationId] = f.[OperationId]
                WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE p
                FROM (
                    SELECT TOP (512) o.[OperationId]
                    FROM {{ object("QueueOperation") }} AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE o.[OperationId] > @_Place
                    ORDER BY o.[OperationId]
                ) AS f
                INNER JOIN {{ object("QueueOperation") }} AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON p.[OperationId] = f.[OperationId]
                WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
                OPTION (LOOP JOIN, FORCE ORDER);
            END;
        END;
