/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and waits for no lock.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Claimed_Invoice]
    @Worker nvarchar(128), @Claim bigint
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Invoice_Setting_V] AS s;
    SET @_Now = SYSUTCDATETIME();

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        ROW_NUMBER() OVER (ORDER BY q.[ScheduledFor], q.[EnqueuedAt]), CASE WHEN q.[ClaimNum] < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        DATEDIFF_BIG(MILLISECOND, @_Now, q.[LeaseUntil]) + 1, q.[EnqueuedAt], q.[EnqueuedAt], q.[UpdatedAt], q.[AttemptNum], 'Processing'
    FROM [readpast].[Invoice] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_InFlight]))
    WHERE q.[Status] = 'Processing' AND q.[ClaimNum] IN (@Claim, -@Claim) AND q.[LeaseOwner] = @Worker AND q.[LeaseUntil] > @_Now
    OPTION (LOOP JOIN, FORCE ORDER);

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum] AS [AnswerAttemptNum], o.[Status] AS [AnswerStatus],
        q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration],
        q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], q.[Number], q.[CustomerID], q.[Amount], q.[Code], q.[Lines]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Invoice] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
