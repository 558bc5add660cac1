
/*
Enqueue one item inside the caller's transaction.
Returns its key and its concurrency token.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_utx]
    @Type [readpast].[_Type] = N'ResetPassword',
    @Subject nvarchar(200) = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step [readpast].[QueueStep] = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @Number bigint;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @EnqueuedAt datetime2(7);

    IF @@TRANCOUNT = 0
        THROW 50012, N'Add_Notification_utx works inside the transaction of its caller; begin one first.', 1;

    SET @Number = NEXT VALUE FOR [readpast].[Notification_Seq];
    SET @EnqueuedAt = DATEADD(MICROSECOND, @Number % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7)));

    INSERT INTO [readpast].[Notification] (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt],
        [Subject]
    )
    VALUES (
        @EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @Now), @Now,
        @Subject
    );

    SELECT
        @EnqueuedAt AS [EnqueuedAt],
        @Now AS [UpdatedAt];
    RETURN 0;
END;
GO
/*
Enqueue one item in a commit of its own.
Returns its key and its concurrency token.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_trx]
    @Type [readpast].[_Type] = N'ResetPassword',
    @Subject nvarchar(200) = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step [readpast].[QueueStep] = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Number bigint;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @EnqueuedAt datetime2(7);
    DECLARE @Tries int = 0;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Add_Notification_trx commits its own work: not to be called in a transaction.', 1;

    WHILE @EnqueuedAt IS NULL
    BEGIN
        BEGIN TRY
            SET @Number = NEXT VALUE FOR [readpast].[Notification_Seq];
            SET @EnqueuedAt = DATEADD(MICROSECOND, @Number % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7)));

            INSERT INTO [readpast].[Notification] (
                [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt],
                [Subject]
            )
            VALUES (
                @EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @Now), @Now,
                @Subject
            );
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): the sequence has moved on, so the next key differs. */
            SET @EnqueuedAt = NULL;
            SET @Tries = @Tries + 1;
            IF ERROR_NUMBER() <> 2627 OR @Tries = 5
                THROW;
        END CATCH;
    END;

    SELECT
        @EnqueuedAt AS [EnqueuedAt],
        @Now AS [UpdatedAt];
    RETURN 0;
END;
GO