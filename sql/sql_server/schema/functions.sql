{%- import "macro/lifeline.sql" as lifeline -%}
{% filter statement %}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsProcessable_fn") %}
/* The meaning of each status, in one place. Re-created by every install. */
{{ create_or_alter }} FUNCTION {{ object("QueueIsProcessable_fn") }} (@Status varchar(20))
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can this item be picked up for processing? */
    RETURN CASE WHEN @Status IN ('Pending', 'Paused', 'Error') THEN 1 ELSE 0 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsFinished_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsFinished_fn") }} (@Status varchar(20))
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Is this item in a terminal state? */
    RETURN CASE WHEN @Status IN ('Pending', 'Processing', 'Error', 'Paused') THEN 0 ELSE 1 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsEditable_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsEditable_fn") }} (@Status varchar(20))
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
Whether an error of this number and severity is a table's word about a row: a constraint, a value, a trigger. Not an error that
passes, nor a lack of the server, nor a name that is missing or forbidden to the caller, nor an error of this library.
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
            201, 207, 208, 229, 230, 262, 297, 300, 596, 601, 911, 916, 1205, 1222, 2760, 2812, 3906, 3960, 4060, 8144, 8145, 15247,
            41301, 41302, 41305, 41325, 41839
        ) THEN 0
        ELSE 1
    END;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueNoteRefusal") %}
/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. An item that no call has tried for long is forgotten: it is gone, or a person has mended it.
With so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueNoteRefusal") }}
    @Queue varchar(40), @Key nvarchar(400), @Doing varchar(10), @Number int, @Reason nvarchar(4000), @Times int OUTPUT
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
    FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND r.[Until] < DATEADD(MINUTE, -10, @_Now);

    IF EXISTS (
        SELECT 1
        FROM {{ object("QueueRefused") }} AS r
        WHERE r.[Queue] = @Queue AND r.[Until] > @_Now AND r.[Key] <> @Key
        HAVING COUNT(*) >= 1000 OR SUM(CASE WHEN r.[Attempts] > 0 THEN 1 ELSE 0 END) >= 100
    )
    BEGIN
        SET @Reason = CONCAT(REPLACE(@Reason, N'%', N'%%'), N', and so of many other items, which are left aside');
        ROLLBACK TRANSACTION;
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
            [Doing] = @Doing, [Reason] = @Reason, [Times] = @Times, [Attempts] = r.[Attempts] + @_Counts,
            [Until] = DATEADD(SECOND, CASE WHEN @Times > 6 THEN 60 ELSE POWER(2, @Times - 1) END, @_Now)
        FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
        WHERE r.[Queue] = @Queue AND r.[Key] = @Key;
    COMMIT TRANSACTION;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueUnfit_fn") %}
/*
The first thing wrong with a JSON array of objects, by what their members take; NULL when nothing is. It names no values. OPENJSON
counts types so: 0 is null, 1 text, 2 a number, 3 true or false, 4 an array, 5 an object.
*/
{{ create_or_alter }} FUNCTION {{ object("QueueUnfit_fn") }} (@Items nvarchar(max), @Takes nvarchar(max))
RETURNS nvarchar(2000)
AS
BEGIN
    DECLARE @Why nvarchar(2000);
    DECLARE @Unknown nvarchar(150); /* where a name is not known */
    DECLARE @Name nvarchar(128) = N'';
    DECLARE @Shape TABLE (
        [Place] nvarchar(150) COLLATE Latin1_General_BIN2 NOT NULL,
        [Name] nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL, [Is] int NOT NULL,
        [Takes] nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
        [Kind] nvarchar(20) COLLATE Latin1_General_BIN2 NULL, [Most] int NULL, [Scale] int NULL,
        PRIMARY KEY CLUSTERED ([Place], [Name])
    );
    DECLARE @Given TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL, [Ordinal] int NOT NULL, [Place] nvarchar(150) COLLATE Latin1_General_BIN2 NOT NULL,
        [Name] nvarchar(4000) COLLATE Latin1_General_BIN2 NOT NULL, [Is] int NOT NULL,
        [Value] nvarchar(max) COLLATE Latin1_General_BIN2 NULL,
        UNIQUE CLUSTERED ([Ordinal], [Seq]) /* each item's members are looked up again below */
    );

    INSERT INTO @Shape ([Place], [Name], [Is], [Takes], [Kind], [Most], [Scale])
    SELECT
        x.[Place], x.[Name], x.[Is], x.[Takes], LEFT(k.[Kind], CHARINDEX(N'(', CONCAT(k.[Kind], N'(')) - 1),
        TRY_CAST(LEFT(a.[Most], CHARINDEX(N',', CONCAT(a.[Most], N',')) - 1) AS int),
        TRY_CAST(SUBSTRING(a.[Most], CHARINDEX(N',', CONCAT(a.[Most], N',')) + 1, 10) AS int)
    FROM (
        SELECT N'' AS [Place], t.[key] AS [Name], t.[type] AS [Is], t.[value] AS [Takes]
        FROM OPENJSON(@Takes) AS t
        UNION ALL
        SELECT CONCAT(t.[key], N'.'), u.[key], u.[type], u.[value]
        FROM OPENJSON(@Takes) AS t
        CROSS APPLY OPENJSON(CASE WHEN t.[type] = 5 THEN t.[value] END) AS u
        UNION ALL
        SELECT CONCAT(t.[key], N'.', u.[key], N'.'), v.[key], v.[type], v.[value]
        FROM OPENJSON(@Takes) AS t
        CROSS APPLY OPENJSON(CASE WHEN t.[type] = 5 THEN t.[value] END) AS u
        CROSS APPLY OPENJSON(CASE WHEN u.[type] = 5 THEN u.[value] END) AS v
    ) AS x
    CROSS APPLY (SELECT CASE WHEN x.[Is] = 1 THEN REPLACE(x.[Takes], N' not null', N'') END AS [Kind]) AS k
    CROSS APPLY (
        SELECT CASE
            WHEN CHARINDEX(N'(', k.[Kind]) > 0
                THEN REPLACE(SUBSTRING(k.[Kind], CHARINDEX(N'(', k.[Kind]) + 1, 20), N')', N'')
        END AS [Most]
    ) AS a;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT CAST(j.[key] AS int), N'', m.[key], m.[type], m.[value]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT g.[Ordinal], CONCAT(g.[Name], N'.'), m.[key], m.[type], m.[value]
    FROM @Given AS g
    INNER JOIN @Shape AS s
        ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name]) AND s.[Is] = 5
    /* A key of several columns is an array. */
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = CASE WHEN g.[Name] = N'key' THEN 4 ELSE 5 END THEN g.[Value] END) AS m;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT g.[Ordinal], CONCAT(g.[Place], g.[Name], N'.'), m.[key], m.[type], m.[value]
    FROM @Given AS g
    INNER JOIN @Shape AS s
        ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name]) AND s.[Is] = 5
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = 5 THEN g.[Value] END) AS m
    WHERE g.[Place] <> N'';

    SELECT TOP (1) @Why = CONCAT(N'item ', w.[Ordinal], N': ', w.[Why]), @Unknown = w.[Unknown]
    FROM (
        SELECT
            g.[Ordinal],
            CASE WHEN s.[Name] IS NULL AND CONCAT(g.[Place], g.[Name]) <> N'' THEN g.[Place] END AS [Unknown],
            CASE
                WHEN g.[Place] = N'' AND g.[Name] = N'' THEN N'it is no object'
                WHEN s.[Name] IS NULL
                    THEN CONCAT(N'there is no "', g.[Place], LEFT(g.[Name], 128), N'"; there are')
                ELSE CONCAT(
                    N'"', s.[Place], s.[Name], N'" takes ',
                    CASE WHEN s.[Is] <> 5 THEN s.[Takes] WHEN s.[Place] + s.[Name] = N'key' THEN N'an array' ELSE N'an object' END
                )
            END AS [Why]
        FROM @Given AS g
        /* Blanks at the end make another name, of which a comparison takes no notice. */
        LEFT JOIN @Shape AS s
            ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name])
        CROSS APPLY (
            SELECT
                LEFT(d.[Digits], CHARINDEX(N'.', CONCAT(d.[Digits], N'.')) - 1) AS [Whole],
                SUBSTRING(d.[Digits], CHARINDEX(N'.', CONCAT(d.[Digits], N'.')) + 1, 100) AS [Fraction]
            FROM (SELECT REPLACE(LEFT(g.[Value], 100), N'-', N'') AS [Digits]) AS d
        ) AS p
        WHERE
            s.[Name] IS NULL
            OR CASE
                WHEN g.[Is] = 0 THEN 1
                WHEN s.[Is] = 5 THEN CASE WHEN g.[Is] = CASE WHEN s.[Place] + s.[Name] = N'key' THEN 4 ELSE 5 END THEN 1 ELSE 0 END
                WHEN s.[Is] = 4
                    THEN CASE
                        WHEN EXISTS (
                            SELECT 1 FROM OPENJSON(CASE WHEN s.[Is] = 4 THEN s.[Takes] END) AS o
                            WHERE g.[Is] = 1 AND CONCAT(o.[value], N'.') COLLATE Latin1_General_BIN2 = CONCAT(g.[Value], N'.')
                        ) THEN 1
                        ELSE 0
                    END
                WHEN s.[Kind] = N'any' THEN 1
                WHEN s.[Kind] = N'json' THEN CASE WHEN g.[Is] IN (4, 5) THEN 1 ELSE 0 END
                WHEN g.[Is] IN (4, 5) THEN 0
                WHEN s.[Kind] = N'text'
                    THEN CASE WHEN g.[Is] = 1 AND DATALENGTH(g.[Value]) <= 2 * COALESCE(CAST(s.[Most] AS bigint), 2147483647) THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'boolean' THEN CASE WHEN g.[Value] IN (N'true', N'false', N'0', N'1') THEN 1 ELSE 0 END
                WHEN s.[Kind] IN (N'integer', N'bigint')
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^-0-9]%' OR g.[Value] = N'' THEN 0
                        WHEN s.[Kind] = N'integer' AND TRY_CAST(g.[Value] AS int) IS NULL THEN 0
                        WHEN TRY_CAST(g.[Value] AS bigint) IS NULL THEN 0
                        ELSE 1
                    END
                WHEN s.[Kind] = N'milliseconds'
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^0-9]%' OR g.[Value] = N'' THEN 0
                        WHEN TRY_CAST(g.[Value] AS bigint) <= {{ longest_ms }} THEN 1
                        ELSE 0
                    END
                WHEN s.[Kind] = N'decimal'
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^-.0-9]%' OR g.[Value] NOT LIKE N'%[0-9]%' OR g.[Value] LIKE N'%.%.%' OR g.[Value] LIKE N'_%-%' THEN 0
                        /* Zeros that lead do not count as digits before the point. */
                        WHEN LEN(STUFF(p.[Whole], 1, PATINDEX(N'%[^0]%', CONCAT(p.[Whole], N'.')) - 1, N'')) > s.[Most] - s.[Scale] THEN 0
                        WHEN LEN(p.[Fraction]) > s.[Scale] THEN 0
                        ELSE 1
                    END
                WHEN s.[Kind] = N'float' THEN CASE WHEN g.[Value] = N'' OR TRY_CAST(g.[Value] AS float) IS NULL THEN 0 ELSE 1 END
                WHEN s.[Kind] = N'timestamp'
                    THEN CASE WHEN g.[Value] LIKE N'[0-9][0-9][0-9][0-9]-%' AND TRY_CAST(g.[Value] AS datetime2(7)) IS NOT NULL THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'date'
                    THEN CASE WHEN g.[Value] LIKE N'[0-9][0-9][0-9][0-9]-__-__' AND TRY_CAST(g.[Value] AS date) IS NOT NULL THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'guid'
                    THEN CASE WHEN LEN(g.[Value]) = 36 AND TRY_CAST(g.[Value] AS uniqueidentifier) IS NOT NULL THEN 1 ELSE 0 END
                /* Bytes: whether it is base64 is looked at where it is read. */
                ELSE 1
            END = 0
        UNION ALL
        SELECT g.[Ordinal], NULL, CONCAT(N'"', g.[Place], LEFT(g.[Name], 128), N'" is given twice')
        FROM @Given AS g
        GROUP BY g.[Ordinal], g.[Place], g.[Name]
        HAVING COUNT(*) > 1
        UNION ALL
        /*
        Members that must have a value, in each object that is there; columns are even where they are left out, and what is
        left out of "set" stays.
        */
        SELECT e.[Ordinal], NULL, CONCAT(N'"', s.[Place], s.[Name], N'" must have a value')
        FROM @Shape AS s
        INNER JOIN (
            SELECT g.[Ordinal], CONCAT(g.[Place], g.[Name], N'.') AS [Place]
            FROM @Given AS g
            WHERE g.[Is] = 5
            UNION
            SELECT CAST(j.[key] AS int), N'columns.' FROM OPENJSON(@Items) AS j
        ) AS e ON e.[Place] = s.[Place]
        WHERE
            s.[Takes] LIKE N'% not null'
            AND NOT EXISTS (
                SELECT 1
                FROM @Given AS g
                WHERE g.[Ordinal] = e.[Ordinal] AND g.[Place] = s.[Place] AND g.[Name] = s.[Name] AND g.[Is] <> 0
            )
            AND (
                s.[Place] NOT LIKE N'set.%'
                OR EXISTS (
                    SELECT 1 FROM @Given AS g
                    WHERE g.[Ordinal] = e.[Ordinal] AND g.[Place] = s.[Place] AND g.[Name] = s.[Name]
                )
            )
    ) AS w
    ORDER BY w.[Ordinal];

    /* The names that there are, one after the other. */
    WHILE @Unknown IS NOT NULL AND @Name IS NOT NULL
    BEGIN
        SET @Name = (SELECT MIN(o.[Name]) FROM @Shape AS o WHERE o.[Place] = @Unknown AND o.[Name] > @Name);
        SET @Why = CONCAT(@Why, CASE WHEN @Why NOT LIKE N'% are' AND @Name IS NOT NULL THEN N',' END, N' ' + @Name);
    END;

    RETURN @Why;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueNamed_fn") %}
/*
A JSON array of objects, or such an object, with its members under the names that are known of them, where but one differs in
case alone. One member after the other: there is no other way to put text together that all versions have.
*/
{{ create_or_alter }} FUNCTION {{ object("QueueNamed_fn") }} (@Given nvarchar(max), @Takes nvarchar(max), @IsArray bit)
RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @At int = 1;
    DECLARE @Count int = (SELECT COUNT(*) FROM OPENJSON(@Given));
    DECLARE @Named nvarchar(max) = N'';

    WHILE @At <= @Count
    BEGIN
        SET @Named = (
            SELECT CONCAT(
                @Named, CASE WHEN @At > 1 THEN N',' END,
                CASE WHEN @IsArray = 0 THEN CONCAT(N'"', STRING_ESCAPE(COALESCE(t.[key], m.[key]), 'json'), N'":') END,
                CASE
                    WHEN m.[type] = 0 THEN N'null'
                    WHEN m.[type] = 1 THEN CONCAT(N'"', STRING_ESCAPE(m.[value], 'json'), N'"')
                    WHEN m.[type] = 5 AND @IsArray = 1 THEN {{ object("QueueNamed_fn") }}(m.[value], @Takes, 0)
                    WHEN m.[type] = 5 AND t.[type] = 5 THEN {{ object("QueueNamed_fn") }}(m.[value], t.[value], 0)
                    ELSE m.[value]
                END
            )
            FROM (
                SELECT
                    j.[key], j.[type], j.[value] COLLATE Latin1_General_BIN2 AS [value],
                    ROW_NUMBER() OVER (ORDER BY CASE WHEN @IsArray = 1 THEN CAST(j.[key] AS int) END, j.[key]) AS [Place]
                FROM OPENJSON(@Given) AS j
            ) AS m
            OUTER APPLY (
                SELECT s.[key], s.[type], s.[value]
                FROM OPENJSON(@Takes) AS s
                WHERE
                    @IsArray = 0
                    AND DATALENGTH(s.[key]) = DATALENGTH(m.[key]) /* blanks at the end are a part of the name */
                    AND (
                        s.[key] = m.[key]
                        OR (
                            LOWER(s.[key]) = LOWER(m.[key])
                            AND (SELECT COUNT(*) FROM OPENJSON(@Takes) AS o WHERE LOWER(o.[key]) = LOWER(m.[key])) = 1
                        )
                    )
            ) AS t
            WHERE m.[Place] = @At
        );
        SET @At = @At + 1;
    END;

    RETURN CASE WHEN @IsArray = 1 THEN CONCAT(N'[', @Named, N']') ELSE CONCAT(N'{', @Named, N'}') END;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueTake") %}
/*
Looks whether the items that a procedure is given are an array of objects with the members that it takes, each with a value that
fits, and throws what is wrong in the words of @Called. @Takes is an object as a description writes columns and their types.
The case of a name matters only where several differ in nothing else.
Table access order: none.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueTake") }}
    @Called nvarchar(200), @Items nvarchar(max) OUTPUT, @Takes nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Why nvarchar(2200);

    IF ISJSON(@Items) = 0 OR EXISTS (SELECT 1 FROM OPENJSON(@Items) AS j WHERE j.[key] LIKE N'%[^0-9]%')
        SET @_Why = N'the items are no JSON array';
    ELSE IF (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        SET @_Why = N'at most 1000 items a call';
    ELSE
        SET @_Why = {{ object("QueueUnfit_fn") }}(@Items, @Takes);

    IF @_Why LIKE N'item %'
    BEGIN
        SET @Items = {{ object("QueueNamed_fn") }}(@Items, @Takes, 1);
        SET @_Why = {{ object("QueueUnfit_fn") }}(@Items, @Takes);
    END;

    IF @_Why IS NOT NULL
    BEGIN
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        SET @_Why = REPLACE(CONCAT(@Called, N': ', @_Why, N'.'), N'%', N'%%');
        THROW 50021, @_Why, 1;
    END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueBackoff_fn") %}
/*
The time of the next attempt: @FirstMs after the first, @Factor times as long after each further one, at most @CapMs; less by up to
@Jitter of it. @Chance is from 0 to 1, for each item anew, since no function may call NEWID. Where the power would pass the cap, the
cap is taken before it is raised, so that it never overflows.
*/
{{ create_or_alter }} FUNCTION {{ object("QueueBackoff_fn") }} (
    @Now datetime2(7), @AttemptNum int, @FirstMs int, @Factor float, @CapMs int, @Jitter float, @Chance float
)
RETURNS TABLE
AS
RETURN
SELECT DATEADD(MILLISECOND, CAST(ROUND((1 - @Jitter * @Chance) * CASE
    WHEN (@AttemptNum - 1) * LOG(@Factor) >= LOG(CAST(@CapMs AS float) / @FirstMs) THEN @CapMs
    ELSE @FirstMs * POWER(@Factor, @AttemptNum - 1)
END, 0) AS int), @Now) AS [RetryAt];
{% endfilter %}
{% filter made("FUNCTION", "QueueJudge_fn") %}
/*
Judges one item, for a caller that has locked it: which answer it gets, and what it becomes. The fence of a worker is its name and its
attempt (LEASE_LOST); the fence of all callers is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION). A
lease past its deadline still counts while no other worker has taken the item: finished work is not done twice.
@Is to @Owner are of the row, @Is NULL where there is none; @Now is the time on the clock of its token. @Given to @Release are of the
call; @Legal is the state that is asked for, in the words of readpast, or NULL where it may not follow; @Place is above 1 where the
item comes again in the call. A refused item is shown as it is.
*/
{{ create_or_alter }} FUNCTION {{ object("QueueJudge_fn") }} (
    @Now datetime2(7), @Worker nvarchar(128), @MaxAttempts int, @Is varchar(20), @AttemptNum int, @Token datetime2(7),
    @Owner nvarchar(128), @Given datetime2(7), @Attempt int, @Place bigint, @Legal varchar(20), @HasData bit,
    @Release bit, @IsDuplicate bit
)
RETURNS TABLE
AS
RETURN
SELECT
    a.[Answer],
    CASE
        WHEN a.[Answer] <> 'OK' THEN @Is
        /* A step keeps the claim, and the attempt is not over; an edit begins none. */
        WHEN @AttemptNum < @MaxAttempts OR @Legal = 'Completed' OR @Legal = @Is OR k.[IsRelease] = 1 THEN @Legal
        ELSE 'Failed' /* its attempts are spent */
    END AS [Status],
    CASE WHEN @Is IS NULL THEN NULL WHEN a.[Answer] = 'OK' THEN @AttemptNum + k.[IsClaim] - k.[IsRelease] ELSE @AttemptNum END AS [AttemptNum],
    CASE WHEN a.[Answer] <> 'OK' THEN @Token WHEN @Token >= @Now THEN DATEADD(MICROSECOND, 1, @Token) ELSE @Now END AS [Token]
FROM (
    SELECT CASE
        WHEN @Is IS NULL THEN 'NOT_FOUND'
        /* By code point: two workers whose names differ only in case are two workers. */
        WHEN
            @Attempt > 0
            AND (@Is <> 'Processing' OR COALESCE(@Owner, N'') <> @Worker COLLATE Latin1_General_BIN2 OR @AttemptNum <> @Attempt)
            THEN 'LEASE_LOST'
        WHEN @Attempt > 0 AND @Given IS NULL THEN 'CONFLICT'
        /* Where nothing of an item is kept yet, it is as it was put in: the answer of Add holds. */
        WHEN @Given <> @Token THEN 'CONFLICT'
        /* The same item twice in one call: the first of them counts. */
        WHEN @Place > 1 THEN 'CONFLICT'
        WHEN @Legal IS NULL THEN 'ILLEGAL_TRANSITION'
        /* Response, error and values do not go to an item that its status closes to workers, but for an edit and a cancel. */
        WHEN
            @HasData = 1 AND @Legal NOT IN (@Is, 'Cancelled')
            AND @Is IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
            THEN 'ILLEGAL_TRANSITION'
        WHEN @IsDuplicate = 1 THEN 'DUPLICATE'
        ELSE 'OK'
    END AS [Answer]
) AS a
CROSS APPLY (
    SELECT
        /* An item given back unworked gets its attempt back too, so none is spent. */
        CASE WHEN @Is = 'Processing' AND @Legal = 'Pending' AND @Release = 1 THEN 1 ELSE 0 END AS [IsRelease],
        /* Processing from another state is a claim of this one item. */
        CASE WHEN @Is <> 'Processing' AND @Legal = 'Processing' AND @AttemptNum < @MaxAttempts THEN 1 ELSE 0 END AS [IsClaim]
) AS k;
{% endfilter %}
{% filter made("PROCEDURE", "QueueFilterTake") %}
/*
Reads the members of a filter, and throws what is wrong in the words of @Called. A condition with a slip in it must not be passed
over: what it was to keep out would be met too. OPENJSON counts types so: 0 is null, 1 text, 2 a number, 4 an array, 5 an object.
@Names has the columns that can be searched: 1 is a plain one, 2 text that may be JSON, 3 JSON, of which only members can be.
Called by Find_ and Purge_. Returns the members that are no list, NULL where one is left out, and the states under the names that there are.
Table access order: QueueStatus.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueFilterTake") }}
    @Called nvarchar(200), @Filter nvarchar(max), @Statuses nvarchar(4000) OUTPUT, @Before datetime2(7) OUTPUT,
    @Since datetime2(7) OUTPUT, @Longer bigint OUTPUT, @Error nvarchar(4000) OUTPUT, @Names nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Wrong nvarchar(2048);

    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        SET @_Wrong = N'@Filter takes keys, status, types, members (arrays), before, after, error (text), longer_ms (a number), columns (an object), once';
    /* A step of its own, since the parts of one condition are evaluated in any order. */
    ELSE IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error', N'longer_ms', N'columns', N'members')
                /* A comparison takes no notice of blanks at the end, and JSON_VALUE does. */
                OR j.[key] LIKE N'% '
                OR j.[type] NOT IN (
                    0, CASE j.[key]
                        WHEN N'keys' THEN 4
                        WHEN N'status' THEN 4
                        WHEN N'types' THEN 4
                        WHEN N'members' THEN 4
                        WHEN N'columns' THEN 5
                        WHEN N'longer_ms' THEN 2
                        ELSE 1
                    END
                )
                /* A member that JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        SET @_Wrong = N'@Filter takes keys, status, types, members (arrays), before, after, error (text), longer_ms (a number), columns (an object), once';
    ELSE
    BEGIN
        SET @Error = JSON_VALUE(@Filter, '$.error');
        SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
        SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
        SET @Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));
        IF @Longer < 0 OR (@Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
            SET @_Wrong = N'longer_ms is a whole number of milliseconds';
        IF
            (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
            OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
            SET @_Wrong = N'before and after are UTC times like 2026-11-21T10:00:00';
        IF
            EXISTS (
                SELECT 1
                FROM OPENJSON(@Filter, '$.columns') AS j
                LEFT JOIN OPENJSON(@Names) AS n ON n.[key] = j.[key] COLLATE Latin1_General_BIN2
                WHERE j.[type] NOT IN (1, 2, 3) OR COALESCE(n.[value], N'3') = N'3'
            )
            OR EXISTS (SELECT 1 FROM OPENJSON(@Filter, '$.columns') AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(@Filter, '$.members') WITH (
                    [Column] nvarchar(4000) '$.column', [Path] nvarchar(4000) '$.path[0]', [Deep] nvarchar(4000) '$.path[3]',
                    [Value] nvarchar(4000) '$.value'
                ) AS j
                LEFT JOIN OPENJSON(@Names) AS n ON n.[key] = j.[Column] COLLATE Latin1_General_BIN2
                WHERE j.[Path] IS NULL OR j.[Deep] IS NOT NULL OR j.[Value] IS NULL OR COALESCE(n.[value], N'1') = N'1'
            )
            SET @_Wrong = N'columns and members name columns that can be searched, each with a value, columns once';
        IF EXISTS (
            SELECT 1 FROM OPENJSON(@Filter, '$.status') AS s
            WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueStatus") }} AS k WHERE k.[Status] = s.[value])
        )
            SET @_Wrong = N'status names one that there is not';
    END;
    IF @_Wrong IS NOT NULL
    BEGIN
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        SET @_Wrong = REPLACE(CONCAT(@Called, N': ', @_Wrong, N'.'), N'%', N'%%');
        THROW 50021, @_Wrong, 1;
    END;
    IF JSON_QUERY(@Filter, '$.status') IS NOT NULL
        SET @Statuses = COALESCE((
            SELECT k.[Status] AS [s]
            FROM {{ object("QueueStatus") }} AS k
            WHERE k.[Status] IN (SELECT s.[value] FROM OPENJSON(@Filter, '$.status') AS s)
            FOR JSON PATH
        ), N'[]');
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueFits_fn") %}
/* A row where an item fits a filter: the members as QueueFilterTake returns them, and then the item's values. */
{{ create_or_alter }} FUNCTION {{ object("QueueFits_fn") }} (
    @Statuses nvarchar(max), @Types nvarchar(max), @Before datetime2(7), @Since datetime2(7), @Longer bigint,
    @Error nvarchar(4000), @Now datetime2(7), @Status varchar(20), @Type nvarchar(4000), @ChangedAt datetime2(7),
    @StartedAt datetime2(7), @RunMs bigint, @Text nvarchar(max)
)
RETURNS TABLE
AS
RETURN
SELECT 1 AS [Fits]
WHERE
    (@Statuses IS NULL OR CHARINDEX(CONCAT(N'"', @Status, N'"'), @Statuses) > 0)
    AND (@Types IS NULL OR EXISTS (SELECT 1 FROM OPENJSON(@Types) AS t WHERE t.[value] COLLATE DATABASE_DEFAULT = @Type))
    AND (@Before IS NULL OR @ChangedAt < @Before) AND (@Since IS NULL OR @ChangedAt >= @Since)
    AND (
        @Longer IS NULL
        OR CASE WHEN @Status = 'Processing' THEN DATEDIFF_BIG(MILLISECOND, @StartedAt, @Now) ELSE @RunMs END > @Longer
    )
    /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
    AND (@Error IS NULL OR CHARINDEX(@Error, @Text COLLATE Latin1_General_BIN2) > 0);
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

    SELECT v.[Version], q.[Queue], q.[Preset], q.[Spec], q.[RenderedBy]
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
where readers see row versions. A call may be forgotten after an hour.
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

    SELECT CASE WHEN @_At IS NULL THEN 'NOT_FOUND' ELSE 'OK' END AS [Answer], @_At AS [At];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueOperationTake") %}
/*
Makes a call repeatable: asked again with the same identity, the answers come again and nothing is changed. @IsNew is 0 where the
call was made before; with no @Operation nothing is kept. A call that was made is no error to end the caller's transaction with.
Called first of all in their transaction by the procedures that take an @Operation.
Locks: the call's row; another attempt of this very call that is under way is waited for.
Table access order: QueueOperation.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueOperationTake") }}
    @Operation uniqueidentifier, @Call varchar(100), @Now datetime2(7), @IsNew bit OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Made varchar(100), @_Message nvarchar(2048);
    DECLARE @_Place uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @_Turn int = 0;

    SET @IsNew = 1;
    IF @Operation IS NULL RETURN 0;

    /* Waited for here: a client that gives up meanwhile leaves no transaction open. */
    SELECT @_Made = p.[Call]
    FROM {{ object("QueueOperation") }} AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;
    IF @_Made IS NULL
    BEGIN
        /* Two may come at once: the key that is taken undoes the INSERT alone. */
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO {{ object("QueueOperation") }} ([OperationId], [Call], [At])
            VALUES (@Operation, @Call, @Now);
        END TRY
        BEGIN CATCH
            SET XACT_ABORT ON;
            IF ERROR_NUMBER() <> 2627 THROW;
            SET @_Made = (SELECT p.[Call] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);
        END CATCH;
        SET XACT_ABORT ON;
    END;
    IF @_Made IS NOT NULL
    BEGIN
        SET @IsNew = 0;
        IF @_Made <> @Call
        BEGIN
            SET @_Message = REPLACE(CONCAT(@Call, N': the operation was another call.'), N'%', N'%%');
            THROW 50021, @_Message, 1;
        END;
        RETURN 0;
    END;

    /*
    Answers are asked for again within minutes. One call in 64 clears what is older than an hour: where the library's own
    identities begin, which are in the order of time, and at some place among all others.
    */
    WHILE ABS(CHECKSUM(@Operation) % 64) = 0 AND @_Turn < 2
    BEGIN
        DELETE p
        FROM (
            SELECT TOP (512) o.[OperationId]
            FROM {{ object("QueueOperation") }} AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE o.[OperationId] > @_Place
            ORDER BY o.[OperationId]
        ) AS f
        INNER JOIN {{ object("QueueOperation") }} AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON p.[OperationId] = f.[OperationId]
        WHERE p.[At] < DATEADD(HOUR, -1, @Now)
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Place = NEWID();
        SET @_Turn = @_Turn + 1;
    END;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueOperationKeep") %}
/*
Keeps of a call what a repetition of it cannot read back from the items. Called last of all in their transaction by the
procedures that take an @Operation.
Table access order: QueueOperation.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueOperationKeep") }}
    @Operation uniqueidentifier, @Result nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE {{ object("QueueOperation") }} WITH (ROWLOCK)
    SET [Result] = @Result
    WHERE [OperationId] = @Operation;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueRecoveryTurn") %}
/*
One of all who claim looks for the items of dead workers, once in @Recover milliseconds; who comes meanwhile neither waits for it
nor looks: @Recover becomes 0. @MyTurn is 1 where the queue's row is the caller's now, to the end of its transaction. @Dead is a worker
that is dead whatever its leases say: its lock is the caller's to the end of its transaction, so that no session of that worker comes
back while its items are taken.
Table access order: QueueRecovery, QueueLifeline, QueueRefused, each passed over when somebody holds the row.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueRecoveryTurn") }}
    @Queue varchar(40), @Now datetime2(7), @Recover int OUTPUT, @MyTurn int OUTPUT, @Dead nvarchar(128) OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Lock nvarchar(255), @_Code int, @_LookedMs bigint, @_RecoveredMs bigint;

    SET @Dead = NULL;
    IF @Recover > 2 AND @MyTurn = 0
    BEGIN
        /* Also as it is not committed yet. Most calls end here. */
        SELECT
            @_LookedMs = ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @Now)), @_RecoveredMs = ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now))
        FROM {{ object("QueueRecovery") }} AS r WITH (READUNCOMMITTED)
        WHERE r.[Queue] = @Queue;
        IF @_LookedMs < 500 AND @_RecoveredMs < @Recover
        BEGIN
            SET @Recover = 0;
            RETURN;
        END;
        IF @_LookedMs >= 500
            EXECUTE {{ object("QueueLifelineLook") }} @Queue, @Now;

        UPDATE r
        SET [RecoveredAt] = @Now
        FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) >= @Recover;
        SET @MyTurn = @@ROWCOUNT;

        /* Pauses that are over are gone around no longer. */
        IF @MyTurn = 1
            DELETE x
            FROM {{ object("QueueRefused") }} AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE x.[Queue] = @Queue AND x.[Doing] = 'pause' AND x.[Until] <= @Now;

        /* Also as it is not committed yet: a transaction that stays open for longer holds up no other. */
        IF @MyTurn = 0
            AND EXISTS (
                SELECT 1
                FROM {{ object("QueueRecovery") }} AS r WITH (READUNCOMMITTED)
                WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) < @Recover
            )
            SET @Recover = 0;
    END;

    IF @Recover = 0 OR NOT EXISTS (
        SELECT 1
        FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE f.[Queue] = @Queue AND f.[FreeSince] IS NOT NULL
    )
        RETURN;

    SELECT TOP (1) @Dead = f.[Worker]
    FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE
        f.[Queue] = @Queue AND {{ lifeline.is_dead("f", lifeline.server_began(), "@Now") }}
        AND {{ lifeline.is_not_own("f.[Worker]") }}
    ORDER BY f.[Worker];
    IF @Dead IS NULL RETURN;

    SET @_Lock = {{ lifeline.lock("@Dead") }};
    EXECUTE @_Code = sys.sp_getapplock
        @Resource = @_Lock, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0, @DbPrincipal = 'public';
    /* It came back: the next look notes that. */
    IF @_Code < 0
        SET @Dead = NULL;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueDue") %}
/*
For many queues at once, in how many milliseconds a claim of each may find something, as Due_<queue> answers. A row for each queue
that the caller may claim from, by its place in @Queues: a JSON array of objects with the queue's name (queue) and the milliseconds
within which one recovery is enough (recover).
Table access order: as Due_<queue>, one queue after the other.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueDue") }}
    @Queues nvarchar(max)
AS
BEGIN
{% include "part/head.sql" %}
    SET LOCK_TIMEOUT 1000;
    DECLARE @_Place int = 0, @_Count int, @_Name nvarchar(400), @_Recover int, @_DueMs bigint;
    DECLARE @_Asked TABLE ([Place] int NOT NULL PRIMARY KEY, [Name] nvarchar(400) NOT NULL, [Recover] int NOT NULL);
    DECLARE @_Out TABLE ([Place] int NOT NULL PRIMARY KEY, [DueMs] bigint NULL);
    INSERT INTO @_Asked ([Place], [Name], [Recover])
    SELECT CAST(j.[key] AS int), {{ text(schema ~ ".") }} + QUOTENAME(N'Due_' + JSON_VALUE(j.[value], '$.queue')),
        CAST(JSON_VALUE(j.[value], '$.recover') AS int)
    FROM OPENJSON(@Queues) AS j;
    SET @_Count = @@ROWCOUNT;

    WHILE @_Place < @_Count
    BEGIN
        SELECT @_Name = a.[Name], @_Recover = a.[Recover] FROM @_Asked AS a WHERE a.[Place] = @_Place;
        /* Asked here: the procedures of one owner call each other without a check. */
        IF HAS_PERMS_BY_NAME(@_Name, N'OBJECT', N'EXECUTE') = 1
        BEGIN
            /* One whose table is being changed, or no longer fits, holds up no other: its own claims report it. */
            BEGIN TRY
                EXECUTE @_Name @Recover = @_Recover, @DueMs = @_DueMs OUTPUT;
                INSERT INTO @_Out ([Place], [DueMs]) VALUES (@_Place, @_DueMs);
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0 THROW;
            END CATCH;
        END;
        SET @_Place = @_Place + 1;
    END;

    SELECT o.[Place], o.[DueMs] FROM @_Out AS o ORDER BY o.[Place];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueRefuse") %}
/*
An answer other than OK as an error: CONFLICT 50023, ILLEGAL_TRANSITION 50024, NOT_FOUND 50025, LEASE_LOST 50026.
Table access order: none.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueRefuse") }}
    @Called nvarchar(128), @Answer varchar(20), @Status varchar(20), @Asked nvarchar(100)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Message nvarchar(2048);
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @_Message = REPLACE(CONCAT(
        @Called, N': ', @Answer, N'; the item is ', COALESCE(@Status, N'not there'), N', asked for was ', @Asked, N'.'
    ), N'%', N'%%');

    IF @Answer = 'CONFLICT' THROW 50023, @_Message, 1;
    IF @Answer = 'ILLEGAL_TRANSITION' THROW 50024, @_Message, 1;
    IF @Answer = 'NOT_FOUND' THROW 50025, @_Message, 1;
    IF @Answer = 'LEASE_LOST' THROW 50026, @_Message, 1;
END;
{% endfilter %}
