{%- set procedure = "Renew_" ~ queue ~ "_Set_trx" -%}
/*
{% if lease_sliding -%}
Extend the leases of a worker's items, counted from now on the server's clock. @Items is a JSON array of objects with
{%- else -%}
Tell a worker whether it still holds its items; leases are fixed, none is extended. @Items is an array of objects with
{%- endif %}
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @LeaseMs int = NULL
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [EnqueuedAt] datetime2(7) NULL,
        [Ordinal] int NOT NULL,
        [Attempt] int NULL,
        UNIQUE CLUSTERED ([EnqueuedAt], [Ordinal])
    );
{% include "relational/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}

    IF @LeaseMs < 1
        THROW 50021, N'{{ procedure }}: @LeaseMs must be at least 1.', 1;

    INSERT INTO @Item ([Ordinal], [EnqueuedAt], [Attempt])
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt],
        r.[Attempt]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Attempt] int '$.attempt'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN q.[Status] = 'Processing' AND q.[LeaseOwner] = @Worker AND q.[AttemptNum] = i.[Attempt] THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal],
            i.[EnqueuedAt],
            q.[UpdatedAt],
            q.[AttemptNum],
            q.[Status]
        FROM @Item AS i
        LEFT JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
{%- if own_types_only %}
{%- set own = "q" %}
            AND {% filter indent(8) %}{% include "relational/_own_type.sql" %}{% endfilter %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if lease_sliding %}

        SET @Now = SYSUTCDATETIME();
        UPDATE q
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
        FROM @Out AS o
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = o.[EnqueuedAt]
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

{% include "relational/_out_select.sql" %}

    RETURN 0;
END;
GO
