/*
Claim one item inside the caller's transaction, to be worked on and settled there by Modify_Invoice_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Invoice_utx]
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting invoice.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Key datetime2(7), @_Token datetime2(7);
    DECLARE @_DueMs bigint = 0;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Next_Invoice_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    /* Again where it only ended items whose attempts are spent: what comes behind them is due now. */
    WHILE @_DueMs = 0
    BEGIN
        EXECUTE [readpast].[Invoice_Claim]
            @Worker = @Worker, @Max = 1, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 1,
            @Tells = 0, @Key = @_Key OUTPUT, @Token = @_Token OUTPUT, @DueMs = @_DueMs OUTPUT;
        SET @Recover = 0;
    END;

    SELECT @_Key AS [EnqueuedAt], @_Token AS [UpdatedAt]
    WHERE @_Key IS NOT NULL;
END;
GO
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_Invoice_trx. What the table refuses is left aside.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Invoice_trx]
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting invoice.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers. 3 or more: unless somebody did within so many milliseconds. */
    @Recover int = 1
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Key datetime2(7), @_Token datetime2(7);
    DECLARE @_DueMs bigint = 0;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Invoice_trx commits its own work: not to be called in a transaction.', 1;

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    /* Again where it only ended items whose attempts are spent: what comes behind them is due now. */
    WHILE @_DueMs = 0
    BEGIN
        EXECUTE [readpast].[Invoice_Claim]
            @Worker = @Worker, @Max = 1, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 0,
            @Tells = 0, @Key = @_Key OUTPUT, @Token = @_Token OUTPUT, @DueMs = @_DueMs OUTPUT
        WITH RESULT SETS NONE;
        SET @Recover = 0;
    END;

    SELECT @_Key AS [EnqueuedAt], @_Token AS [UpdatedAt]
    WHERE @_Key IS NOT NULL;
END;
GO
