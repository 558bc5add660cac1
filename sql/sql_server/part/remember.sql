        /*
        First of all: if another attempt of this very call is under way, this waits for it{{ ", and then fails (2627)" if transaction is undefined or transaction == "trx" }}.
        */
        IF @Operation IS NOT NULL
        BEGIN
{%- set utx = transaction is defined and transaction == "utx" %}
{%- if utx %}
            /* A call that was done is no error to end the caller's transaction with. */
            SET XACT_ABORT OFF;
            BEGIN TRY
{%- endif %}
{%- filter indent(4 if utx else 0) %}
            INSERT INTO {{ object("QueueOperation") }} ([OperationId], [Call], [At])
            VALUES (@Operation, '{{ procedure[:-4] }}', @_Now);
{%- endfilter %}
{%- if utx %}
            END TRY
            BEGIN CATCH
                SET XACT_ABORT ON;
                IF ERROR_NUMBER() <> 2627
                    THROW;
                SET @_Replayed = 1;
            END CATCH;
            SET XACT_ABORT ON;
{%- endif %}

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
