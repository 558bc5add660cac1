{%- set procedure = "Redrive_" ~ queue ~ "_Set_trx" -%}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.{{ " DUPLICATE is work that is in the queue again, unfinished." if dedup and dedup.unfinished_only }}
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Now datetime2(7);
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{% include "relational/_item_table.sql" %}
{% include "relational/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH ([Key] nvarchar(400) '$.key') AS r
        WHERE r.[Key] IS NOT NULL AND TRY_CONVERT(datetime2(7), r.[Key]) IS NULL
    )
        THROW 50021, N'{{ procedure }}: one of the keys is not a key of {{ queue }}.', 1;

    INSERT INTO @Item ([Ordinal], [EnqueuedAt], [Token])
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt],
        r.[Token]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

{% include "relational/_remember.sql" %}

        INSERT INTO @Work ([Ordinal], [EnqueuedAt], [Answer], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            i.[EnqueuedAt],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN i.[Token] IS NOT NULL AND i.[Token] <> q.[UpdatedAt] THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN ROW_NUMBER() OVER (PARTITION BY i.[EnqueuedAt] ORDER BY i.[Ordinal]) > 1 THEN 'CONFLICT'
                WHEN q.[Status] IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
{%- if dedup and dedup.unfinished_only %}
                /* The same work came again meanwhile, or comes back twice in this call. */
                WHEN EXISTS (
                    SELECT 1
                    FROM {{ object(queue) }} AS e WITH (UPDLOCK, HOLDLOCK, ROWLOCK, INDEX ([IX_{{ queue }}_Work]))
                    WHERE
                        e.[EnqueuedAt] <> q.[EnqueuedAt]
                        AND e.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- for column in work %}
                        AND e.{{ column.quoted }} = q.{{ column.quoted }}
{%- if column.nullable %}
                        AND e.{{ column.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
                )
                    THEN 'DUPLICATE'
                WHEN
                    ROW_NUMBER() OVER (
                        PARTITION BY
                            CASE
                                WHEN q.[Status] IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted') THEN 1
                            END{% for column in work %},
                            q.{{ column.quoted }}{% endfor %}
                        ORDER BY i.[Ordinal]
                    ) > 1
                    AND q.[Status] IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted')
{%- for column in work if column.nullable %}
                    AND q.{{ column.quoted }} IS NOT NULL
{%- endfor %}
                    THEN 'DUPLICATE'
{%- endif %}
                ELSE 'OK'
            END,
            q.[Status],
            q.[UpdatedAt],
            q.[AttemptNum]
        FROM @Item AS i
        LEFT JOIN {{ object(queue) }} AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE @Work
        SET
            [Status] = 'Pending',
            [AttemptNum] = 0,
            [Token] = CASE
                WHEN @Now > [Token] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, [Token])
            END
        WHERE [Answer] = 'OK';

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [ScheduledFor] = @Now,
            [StartedAt] = NULL,
            [Duration] = NULL,
            [LeaseOwner] = NULL,
            [LeaseUntil] = NULL
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

{% include "relational/_remember_answers.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
{% include "relational/_replayed.sql" %}
    END CATCH;

    IF @Replayed = 1
    BEGIN
{% include "relational/_answers_again.sql" %}
    END
    ELSE
        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            w.[Ordinal], w.[Answer], w.[Ordinal], w.[EnqueuedAt], w.[Token], w.[AttemptNum], w.[Status]
        FROM @Work AS w;

{% include "relational/_out_select.sql" %}

    RETURN 0;
END;
GO
