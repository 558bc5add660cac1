
        IF @Recover > 2
        BEGIN
            /*
            One of all who claim looks for the items of dead workers, once in @Recover milliseconds; who comes meanwhile
            neither waits for it nor looks.
            */
            UPDATE r
            SET [RecoveredAt] = @_Now
            FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                r.[Queue] = '{{ queue }}'
                AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover;
            SET @_MyTurn = @@ROWCOUNT;

            /* Also as it is not committed yet. Whoever keeps its transaction open for longer holds nobody up. */
            IF @_MyTurn = 0
                AND EXISTS (
                    SELECT 1
                    FROM {{ object("QueueRecovery") }} AS r WITH (READUNCOMMITTED)
                    WHERE
                        r.[Queue] = '{{ queue }}'
                        AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) < @Recover
                )
                SET @Recover = 0;
        END;
