{% filter statement %}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsProcessable_fn") %}
/* The meaning of each status, in one place. Re-created by every install. */
{{ create_or_alter }} FUNCTION {{ object("QueueIsProcessable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can this item be picked up for processing? */
    RETURN CASE WHEN @Status IN ('Pending', 'Paused', 'Error') THEN 1 ELSE 0 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsFinished_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsFinished_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Is this item in a terminal state? */
    RETURN CASE WHEN @Status IN ('Pending', 'Processing', 'Error', 'Paused') THEN 0 ELSE 1 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsEditable_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsEditable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can a worker write response and error data to this item? */
    RETURN CASE
        WHEN @Status IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted') THEN 0
        ELSE 1
    END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsRefusal_fn") %}
/*
Whether an error of this number and severity is a table's word about a row: a constraint, a value, a trigger. Not what passes,
what the server lacks, what is missing or forbidden to whoever asks, nor what is this library's own.
*/
{{ create_or_alter }} FUNCTION {{ object("QueueIsRefusal_fn") }} (@Number int, @Severity int)
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    RETURN CASE
        WHEN @Severity < 11 OR @Severity > 16 THEN 0
        WHEN @Number BETWEEN 50012 AND 50021 OR @Number = 50005 THEN 0
        WHEN @Number IN (
            201, 207, 208, 229, 230, 262, 297, 300, 596, 911, 916, 1205, 1222, 2760, 2812, 3906, 3960, 4060, 8144, 8145, 15247,
            41301, 41302, 41305, 41325, 41839
        ) THEN 0
        ELSE 1
    END;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueNoteRefusal") %}
/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. What nobody has tried for long is forgotten: it is gone, or somebody has mended it.
Of so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueNoteRefusal") }}
    @Queue varchar(40),
    @Key nvarchar(400),
    @Doing varchar(10),
    @Number int,
    @Reason nvarchar(4000),
    @Times int OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Counts int = CASE WHEN @Number IN (2601, 2627) THEN 0 ELSE 1 END;

    /* The values of a key are nobody's business who reads a log. */
    IF @_Counts = 0
        SET @Reason = LEFT(@Reason, CHARINDEX(N' The duplicate key value', @Reason + N' The duplicate key value'));
    SET @Reason = LEFT(@Reason, 400);

    BEGIN TRANSACTION;
    DELETE r
    FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
    WHERE r.[Queue] = @Queue AND r.[Until] < DATEADD(MINUTE, -10, @_Now);

    IF EXISTS (
        SELECT 1
        FROM {{ object("QueueRefused") }} AS r
        WHERE r.[Queue] = @Queue AND r.[Until] > @_Now AND r.[Key] <> @Key
        HAVING COUNT(*) >= 1000 OR SUM(CASE WHEN r.[Attempts] > 0 THEN 1 ELSE 0 END) >= 100
    )
    BEGIN
        SET @Reason = CONCAT(REPLACE(@Reason, N'%', N'%%'), N', and so of many other items, which are left aside');
        THROW 50016, @Reason, 1;
    END;

    SET @Times = NULL;
    SELECT @Times = r.[Times] + 1
    FROM {{ object("QueueRefused") }} AS r WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE r.[Queue] = @Queue AND r.[Key] = @Key;

    IF @Times IS NULL
    BEGIN
        SET @Times = 1;
        INSERT INTO {{ object("QueueRefused") }} ([Queue], [Key], [Doing], [Reason], [Times], [Attempts], [Since], [Until])
        VALUES (@Queue, @Key, @Doing, @Reason, 1, @_Counts, @_Now, DATEADD(SECOND, 1, @_Now));
    END
    ELSE
        UPDATE r
        SET
            [Doing] = @Doing,
            [Reason] = @Reason,
            [Times] = @Times,
            [Attempts] = r.[Attempts] + @_Counts,
            [Until] = DATEADD(SECOND, CASE WHEN @Times > 6 THEN 60 ELSE POWER(2, @Times - 1) END, @_Now)
        FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
        WHERE r.[Queue] = @Queue AND r.[Key] = @Key;
    COMMIT TRANSACTION;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueCatalog") %}
/*
The installation here: the version of the objects, and a row per queue, or one without a queue. A handle reads this
when it opens, so that a worker needs no right but to execute.
Table access order: QueueSchemaVersion, QueueSpec.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueCatalog") }}
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        v.[Version],
        q.[Queue],
        q.[Preset],
        q.[Spec],
        q.[RenderedBy]
    FROM (
        SELECT MAX(a.[Version]) AS [Version]
        FROM {{ object("QueueSchemaVersion") }} AS a
    ) AS v
    LEFT JOIN {{ object("QueueSpec") }} AS q
        ON 1 = 1
    ORDER BY q.[Queue];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueIsDone") %}
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, also
where readers see row versions. What is older than an hour may be forgotten.
Table access order: QueueOperation.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueIsDone") }}
    @Operation uniqueidentifier
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_At datetime2(7);

    SELECT @_At = p.[At]
    FROM {{ object("QueueOperation") }} AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;

    SELECT
        CASE WHEN @_At IS NULL THEN 'NOT_FOUND' ELSE 'OK' END AS [Answer],
        @_At AS [At];
END;
{% endfilter %}
