/*
Enqueue one item inside the caller's transaction.
Returns the answer of Add_FourQueueScheduler_Set_utx, with its key and its concurrency token.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_utx]
    @Type nvarchar(60) = N'Default', @reputation int = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_FourQueueScheduler_utx works inside the transaction of its caller; begin one first.', 1;

    SET @_Items = (
        SELECT @Type AS [type], @Step AS [step], @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."reputation"', CAST(@reputation AS nvarchar(50)));
    EXECUTE [readpast].[Add_FourQueueScheduler_Set_utx] @Items = @_Items;
END;
GO
/*
Enqueue one item in a commit of its own.
Returns the answer of Add_FourQueueScheduler_Set_trx, with its key and its concurrency token.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_trx]
    @Type nvarchar(60) = N'Default', @reputation int = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Items = (
        SELECT @Type AS [type], @Step AS [step], @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."reputation"', CAST(@reputation AS nvarchar(50)));
    EXECUTE [readpast].[Add_FourQueueScheduler_Set_trx] @Operation = NULL, @Items = @_Items;
END;
GO
