{%- set procedure = "Modify_" ~ queue ~ "_Set_trx" -%}
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_{{ queue }}_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: QueueOperation, {{ queue }}, QueueTransition.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @RecoverMax int = 100;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{% include "relational/_item_table.sql" %}
{% include "relational/_claim_tables.sql" %}
{% include "relational/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}
{% include "relational/_check_lease.sql" %}

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 0 to 1000.', 1;

    INSERT INTO @Item (
        [Ordinal], [EnqueuedAt], [Token], [Attempt], [Status], [Step], [Response], [Error], [ScheduledFor], [DelayMs],
        [Release]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt], r.[Token], r.[Attempt], r.[Status], r.[Step], r.[Response], r.[Error], r.[ScheduledFor],
        r.[DelayMs], r.[Release]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [ScheduledFor] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

{% include "relational/_remember.sql" %}
{%- if group %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "relational/_group_lock.sql" %}{% endfilter %}
        END;
{%- endif %}

{% include "relational/_modify.sql" %}

{% include "relational/_remember_answers.sql" %}

        IF @Max > 0
        BEGIN
{%- if group %}
            SET @Now = SYSUTCDATETIME();
{%- endif %}
            IF @Recover > 0
            BEGIN
{% filter indent(8, true) %}{% include "relational/_recover.sql" %}{% endfilter %}
            END;

{% filter indent(4, true) %}{% include "relational/_claim.sql" %}{% endfilter %}
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
{% include "relational/_replayed.sql" %}
    END CATCH;

    IF @Replayed = 1
    BEGIN
{% include "relational/_answers_again.sql" %}
{%- if completion != "keep" %}

        /* What was completed has left the table: it was answered for like this. */
        SET @Now = (SELECT p.[At] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);
        UPDATE o
        SET
            [Token] = CASE
                WHEN i.[Token] >= @Now THEN DATEADD(MICROSECOND, 1, CAST(i.[Token] AS datetime2(7)))
                ELSE @Now
            END,
            [AttemptNum] = i.[Attempt],
            [Status] = 'Completed'
        FROM @Item AS i
        INNER JOIN @Out AS o
            ON o.[Seq] = i.[Ordinal]
        WHERE o.[Answer] = 'OK' AND o.[Status] IS NULL AND i.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
    END
    ELSE
    BEGIN
        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            w.[Ordinal], w.[Answer], w.[Ordinal], w.[EnqueuedAt], w.[Token], w.[AttemptNum], w.[Status]
        FROM @Work AS w;

        IF @Max > 0
        BEGIN
{% filter indent(8, true) %}{% include "relational/_claimed_out.sql" %}{% endfilter %}
        END;
    END;

    IF @Max = 0
    BEGIN
{% filter indent(4, true) %}{% include "relational/_out_select.sql" %}{% endfilter %}

        RETURN 0;
    END;

{% include "relational/_out_items_select.sql" %}

    RETURN 0;
END;
GO
