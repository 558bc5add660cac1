{%- import "macro/operator.sql" as operator -%}
{% filter made("PROCEDURE", "QueuePauseBegin") %}
/*
Pauses a queue, or with @Type one type of it: nothing of it is claimed until it is resumed, or @ForMs are over, or @Until (UTC) is; items
that are added meanwhile wait too, and what is in work goes on. A pause that is there gets the new end and reason, and keeps since when
it is. Returns the end; NULL: there is none. Claims that are under way may still take items.
Table access order: QueuePause, QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueuePauseBegin") }}
    @Queue varchar(40), @Type nvarchar(400), @Until datetime2(7), @ForMs bigint, @Who nvarchar(200), @Reason nvarchar(400)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_End datetime2(7) = @Until;
    DECLARE @_Redrive nvarchar(520);
{{- operator.check("QueuePauseBegin") }}
    IF COALESCE(@Who, N'') = N''
        THROW 50021, N'QueuePauseBegin: @Who is empty.', 1;
    IF DATALENGTH(@Type) > 120
        THROW 50021, N'QueuePauseBegin: @Type is longer than 60 characters.', 1;
    IF @ForMs > 3155760000000
        THROW 50021, N'QueuePauseBegin: @ForMs is more than a hundred years.', 1;
    IF @_End IS NULL
        SET @_End = DATEADD(MILLISECOND, @ForMs % 60000, DATEADD(MINUTE, @ForMs / 60000, @_Now));
    IF @_End <= @_Now
        THROW 50021, N'QueuePauseBegin: the pause must end in the future.', 1;
    SET @Type = COALESCE(@Type, N'');

    BEGIN TRANSACTION;
    /* Those that are over; a pause of the same kind begins anew. */
    DELETE p
    FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type AND p.[Until] <= @_Now;
    DELETE p
    FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE p.[Queue] = @Queue AND p.[Until] <= @_Now;
    UPDATE p
    SET [Until] = @_End, [Who] = @Who, [Login] = ORIGINAL_LOGIN(), [Reason] = NULLIF(@Reason, N'')
    FROM {{ object("QueuePause") }} AS p WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type;
    IF @@ROWCOUNT = 0
        INSERT INTO {{ object("QueuePause") }} ([Queue], [Type], [Since], [Until], [Who], [Login], [Reason])
        VALUES (@Queue, @Type, @_Now, @_End, @Who, ORIGINAL_LOGIN(), NULLIF(@Reason, N''));
    /* As it was written first: the mark below is compared by code point. */
    SELECT @Type = p.[Type]
    FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type;
    /* Claims look here anyhow, so that a queue without pauses pays nothing for them. */
    DELETE r
    FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND r.[Doing] = 'pause' AND r.[Until] <= @_Now;
    UPDATE r
    SET [Until] = COALESCE(@_End, '9999-12-31')
    FROM {{ object("QueueRefused") }} AS r WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE r.[Queue] = @Queue AND r.[Key] = CONCAT(NCHAR(1), @Type);
    IF @@ROWCOUNT = 0
        INSERT INTO {{ object("QueueRefused") }} ([Queue], [Key], [Doing], [Reason], [Times], [Attempts], [Since], [Until])
        VALUES (@Queue, CONCAT(NCHAR(1), @Type), 'pause', N'', 0, 0, @_Now, COALESCE(@_End, '9999-12-31'));
    COMMIT TRANSACTION;

    SELECT @_End AS [Until];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueuePauseEnd") %}
/*
Resumes a queue, or with @Type one type of it: the pauses of the queue and of each type are ended one by one. Returns 1 if there was such
a pause, or else 0.
Table access order: QueuePause, QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueuePauseEnd") }}
    @Queue varchar(40), @Type nvarchar(400)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Redrive nvarchar(520);
    DECLARE @_Ended TABLE ([Type] nvarchar(60) NOT NULL, [Until] datetime2(7) NULL);
{{- operator.check("QueuePauseEnd") }}

    BEGIN TRANSACTION;
    DELETE p
    OUTPUT deleted.[Type], deleted.[Until] INTO @_Ended ([Type], [Until])
    FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = COALESCE(@Type, N'');
    DELETE r
    FROM @_Ended AS e
    INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
        ON r.[Queue] = @Queue AND r.[Key] = CONCAT(NCHAR(1), e.[Type]) COLLATE Latin1_General_BIN2
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;

    SELECT COUNT(*) AS [Resumed] FROM @_Ended AS e WHERE e.[Until] IS NULL OR e.[Until] > SYSUTCDATETIME();
END;
{% endfilter %}
