{%- set procedure = "Purge_" ~ queue ~ "_trx" -%}
{%- set item = "q" -%}
/*
Delete up to @Max finished items that fit @Filter, oldest key first. @Filter is that of Find_{{ queue }}; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Purged int = 0;
    DECLARE @Found TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Locked TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
{% include "relational/_filter.sql" %}

{% include "relational/_no_transaction.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    IF @Statuses IS NULL
        DELETE FROM @Wanted WHERE [Status] = 'Failed' OR {{ object("QueueIsFinished_fn") }}([Status]) = 0;
    IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE {{ object("QueueIsFinished_fn") }}(w.[Status]) = 0)
        THROW 50021, N'{{ procedure }}: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        INSERT INTO @Found ([EnqueuedAt])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM {{ object(queue) }} AS q WITH (READPAST, READCOMMITTEDLOCK)
        WHERE
            (@Keys IS NULL OR q.[EnqueuedAt] IN (SELECT k.[EnqueuedAt] FROM @Key AS k))
{% filter indent(4, true) %}{% include "relational/_fits.sql" %}{% endfilter %}
        ORDER BY q.[EnqueuedAt];

        INSERT INTO @Locked ([EnqueuedAt])
        SELECT q.[EnqueuedAt]
        FROM @Found AS f
        INNER JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[EnqueuedAt] = f.[EnqueuedAt]
        WHERE
            q.[EnqueuedAt] = f.[EnqueuedAt]
{% filter indent(4, true) %}{% include "relational/_fits.sql" %}{% endfilter %}
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @Locked AS l
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = l.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Purged = @@ROWCOUNT;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        'purged' AS [Name],
        CAST(@Purged AS bigint) AS [Value];

    RETURN 0;
END;
GO
