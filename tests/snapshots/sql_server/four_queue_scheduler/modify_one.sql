/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_FourQueueScheduler_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is; an error ends it (XACT_ABORT).
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_utx]
    @Key nvarchar(4000),
    @Token datetime2(7), /* the concurrency token */
    @Status varchar(20),
    @Step nvarchar(60) = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response nvarchar(max) = NULL, /* NULL keeps it */
    @Error nvarchar(max) = NULL, /* NULL keeps it */
    @Due datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_FourQueueScheduler_utx works inside the transaction of its caller; begin one first.', 1;

    SET @Worker = COALESCE(NULLIF(@Worker, N''), CONCAT(SUSER_SNAME(), N'/', @@SPID));
    EXECUTE [readpast].[FourQueueScheduler_Settle]
        @Operation = NULL, @Worker = @Worker, @LeaseMs = NULL, @IsOne = 1, @Key = @Key, @Token = @Token,
        @Attempt = @AttemptNum, @Status = @Status, @Step = @Step, @Response = @Response, @Error = @Error, @DueAt = @Due, @Set = @Set;
END;
GO
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_trx]
    @Key nvarchar(4000),
    @Token datetime2(7), /* the concurrency token */
    @Status varchar(20),
    @Step nvarchar(60) = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response nvarchar(max) = NULL, /* NULL keeps it */
    @Error nvarchar(max) = NULL, /* NULL keeps it */
    @Due datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Answer varchar(20), @_Is varchar(20);
    DECLARE @_Asked nvarchar(100) = @Status;

    IF @@TRANCOUNT > 0 THROW 50012, N'Modify_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    SET @Worker = COALESCE(NULLIF(@Worker, N''), CONCAT(SUSER_SNAME(), N'/', @@SPID));
    BEGIN TRY
        BEGIN TRANSACTION;
        EXECUTE [readpast].[FourQueueScheduler_Settle]
            @Operation = NULL, @Worker = @Worker, @LeaseMs = NULL, @IsOne = 1, @Key = @Key, @Token = @Token,
            @Attempt = @AttemptNum, @Status = @Status, @Step = @Step, @Response = @Response, @Error = @Error, @DueAt = @Due, @Set = @Set,
            @Tells = 0, @Answer = @_Answer OUTPUT, @Is = @_Is OUTPUT
        WITH RESULT SETS NONE;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    EXECUTE [readpast].[QueueRefuse] N'Modify_FourQueueScheduler_trx', @_Answer, @_Is, @_Asked;
    SELECT v.*
    FROM (SELECT TRY_CAST(NULLIF(@Key, N'') AS bigint) AS [Key1]) AS i
    INNER JOIN [readpast].[Worker_FourQueueScheduler_V] AS v ON v.[id] = i.[Key1];
END;
GO
