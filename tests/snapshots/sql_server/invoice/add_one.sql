/*
Enqueue one item inside the caller's transaction.
Returns its key and its concurrency token.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_utx]
    @Type nvarchar(60) = N'Default', @Number nvarchar(20), @CustomerID bigint = NULL, @Amount decimal(12, 2) = 0,
    @Code nvarchar(6) = N'none', @Lines nvarchar(max) = N'[]',
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Number bigint;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_EnqueuedAt datetime2(7);

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Invoice_utx works inside the transaction of its caller; begin one first.', 1;

    SET @_Number = NEXT VALUE FOR [readpast].[Invoice_Seq];
    SET @_EnqueuedAt = DATEADD(MICROSECOND, @_Number % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)));

    INSERT INTO [readpast].[Invoice] (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt], [Number], [CustomerID], [Amount], [Code], [Lines]
    )
    VALUES (@_EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @_Now), @_Now, @Number, @CustomerID, @Amount, @Code, @Lines);

    SELECT @_EnqueuedAt AS [EnqueuedAt], @_Now AS [UpdatedAt];
END;
GO
/*
Enqueue one item in a commit of its own.
Returns its key and its concurrency token.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_trx]
    @Type nvarchar(60) = N'Default', @Number nvarchar(20), @CustomerID bigint = NULL, @Amount decimal(12, 2) = 0,
    @Code nvarchar(6) = N'none', @Lines nvarchar(max) = N'[]',
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Number bigint;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_EnqueuedAt datetime2(7);
    DECLARE @_Tries int = 0;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Invoice_trx commits its own work: not to be called in a transaction.', 1;

    WHILE @_EnqueuedAt IS NULL
    BEGIN
        BEGIN TRY
            SET @_Number = NEXT VALUE FOR [readpast].[Invoice_Seq];
            SET @_EnqueuedAt = DATEADD(MICROSECOND, @_Number % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)));

            INSERT INTO [readpast].[Invoice] (
                [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt], [Number], [CustomerID], [Amount], [Code],
                [Lines]
            )
            VALUES (
                @_EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @_Now), @_Now, @Number, @CustomerID, @Amount, @Code,
                @Lines
            );
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): the sequence has moved on, so the next key differs. */
            SET @_EnqueuedAt = NULL;
            SET @_Tries = @_Tries + 1;
            IF ERROR_NUMBER() <> 2627 OR @_Tries = 5 THROW;
        END CATCH;
    END;

    SELECT @_EnqueuedAt AS [EnqueuedAt], @_Now AS [UpdatedAt];
END;
GO
