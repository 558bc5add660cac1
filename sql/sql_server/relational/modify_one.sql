{%- set procedure = "Modify_" ~ queue ~ "_trx" -%}
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ queue }}, QueueTransition.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @EnqueuedAt {{ object("_Timestamp") }},
    @UpdatedAt {{ object("_Timestamp") }}, /* the concurrency token */
    @Status {{ object("QueueState") }},
    @Step {{ object("QueueStep") }} = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response {{ object("WebResponse") }} = NULL, /* NULL keeps it */
    @Error {{ object("WebResponse") }} = NULL, /* NULL keeps it */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @LeaseMs int;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
    DECLARE @Answer varchar(20);
    DECLARE @Message nvarchar(2048);
{% include "relational/_item_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}

    INSERT INTO @Item (
        [Ordinal], [EnqueuedAt], [Token], [Attempt], [Status], [Step], [Response], [Error], [ScheduledFor]
    )
    VALUES (0, @EnqueuedAt, @UpdatedAt, @AttemptNum, @Status, @Step, @Response, @Error, @ScheduledFor);
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

{% include "relational/_modify.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        @Answer = w.[Answer],
        @Message = CONCAT(
            N'{{ procedure }}: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
            N', asked for was ', @Status, N'.'
        )
    FROM @Work AS w;

    IF @Answer = 'CONFLICT'
        THROW 50023, @Message, 1;
    IF @Answer = 'ILLEGAL_TRANSITION'
        THROW 50024, @Message, 1;
    IF @Answer = 'NOT_FOUND'
        THROW 50025, @Message, 1;
    IF @Answer = 'LEASE_LOST'
        THROW 50026, @Message, 1;

    SELECT v.*
    FROM {{ object("Worker_" ~ queue ~ "_V") }} AS v
    WHERE v.[EnqueuedAt] = @EnqueuedAt;

    RETURN 0;
END;
GO
