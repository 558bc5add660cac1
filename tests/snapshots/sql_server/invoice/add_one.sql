/*
Enqueue one item inside the caller's transaction.
Returns the answer of Add_Invoice_Set_utx, with its key and its concurrency token.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_utx]
    @Type [readpast].[_Type] = N'Default',
    @Number nvarchar(20),
    @CustomerID bigint = NULL,
    @Amount decimal(12, 2) = 0,
    @Code nvarchar(6) = N'none',
    @Lines nvarchar(max) = N'[]',
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step [readpast].[QueueStep] = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* The caller's level comes back at the end. Under SNAPSHOT, items would be judged as they were at its beginning. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Invoice_utx works inside the transaction of its caller; begin one first.', 1;

    SET @_Items = (
        SELECT
            @Type AS [type],
            @Step AS [step],
            @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Number"', @Number);
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."CustomerID"', CAST(@CustomerID AS nvarchar(50)));
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Amount"', N''), 'strict $[0].columns."Amount"', CAST(@Amount AS nvarchar(50)));
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Code"', N''), 'strict $[0].columns."Code"', @Code);
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Lines"', N''), 'strict $[0].columns."Lines"', JSON_QUERY(@Lines));
    EXECUTE [readpast].[Add_Invoice_Set_utx] @Items = @_Items;

    RETURN 0;
END;
GO
/*
Enqueue one item in a commit of its own.
Returns the answer of Add_Invoice_Set_trx, with its key and its concurrency token.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_trx]
    @Type [readpast].[_Type] = N'Default',
    @Number nvarchar(20),
    @CustomerID bigint = NULL,
    @Amount decimal(12, 2) = 0,
    @Code nvarchar(6) = N'none',
    @Lines nvarchar(max) = N'[]',
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step [readpast].[QueueStep] = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    IF @@TRANCOUNT > 0
        THROW 50012, N'Add_Invoice_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Items = (
        SELECT
            @Type AS [type],
            @Step AS [step],
            @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Number"', @Number);
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."CustomerID"', CAST(@CustomerID AS nvarchar(50)));
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Amount"', N''), 'strict $[0].columns."Amount"', CAST(@Amount AS nvarchar(50)));
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Code"', N''), 'strict $[0].columns."Code"', @Code);
    SET @_Items = JSON_MODIFY(JSON_MODIFY(@_Items, '$[0].columns."Lines"', N''), 'strict $[0].columns."Lines"', JSON_QUERY(@Lines));
    EXECUTE [readpast].[Add_Invoice_Set_trx] @Operation = NULL, @Items = @_Items;

    RETURN 0;
END;
GO
