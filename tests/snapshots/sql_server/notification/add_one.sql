/*
Enqueue one item inside the caller's transaction.
Returns the answer of Add_Notification_Set_utx, with its key and its concurrency token.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_utx]
    @Type nvarchar(60) = N'ResetPassword',
    @ResetPassword nvarchar(max) = NULL, /* a JSON object of its columns */
    @Email nvarchar(max) = NULL, /* a JSON object of its columns */
    @Sms nvarchar(max) = NULL, /* a JSON object of its columns */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Notification_utx works inside the transaction of its caller; begin one first.', 1;

    SET @_Items = (
        SELECT @Type AS [type], @Step AS [step], @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."ResetPassword"', JSON_QUERY(@ResetPassword));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Email"', JSON_QUERY(@Email));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Sms"', JSON_QUERY(@Sms));
    EXECUTE [readpast].[Add_Notification_Set_utx] @Items = @_Items;
END;
GO
/*
Enqueue one item in a commit of its own.
Returns the answer of Add_Notification_Set_trx, with its key and its concurrency token.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_trx]
    @Type nvarchar(60) = N'ResetPassword',
    @ResetPassword nvarchar(max) = NULL, /* a JSON object of its columns */
    @Email nvarchar(max) = NULL, /* a JSON object of its columns */
    @Sms nvarchar(max) = NULL, /* a JSON object of its columns */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Items nvarchar(max);

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Notification_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Items = (
        SELECT @Type AS [type], @Step AS [step], @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."ResetPassword"', JSON_QUERY(@ResetPassword));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Email"', JSON_QUERY(@Email));
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."Sms"', JSON_QUERY(@Sms));
    EXECUTE [readpast].[Add_Notification_Set_trx] @Operation = NULL, @Items = @_Items;
END;
GO
