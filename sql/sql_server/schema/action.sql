{%- import "macro/operator.sql" as operator -%}
{%- import "macro/lifeline.sql" as lifeline -%}
{% filter made("PROCEDURE", "QueueActionNote") %}
/*
Records an action of an operator and returns its number: one that has ended or, with the state Running, one on many items, which
its caller or another process runs by QueueActionStep. Records of actions that ended 90 days ago go, a few with each call.
Table access order: QueueAction.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueActionNote") }}
    @Queue varchar(40), @Verb varchar(20), @Who nvarchar(200), @Filter nvarchar(max), @State varchar(20), @Expected bigint,
    @Done bigint, @Refused bigint, @Result nvarchar(4000)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Redrive nvarchar(520);

    IF @State NOT IN ('Running', 'Done', 'Failed')
        THROW 50021, N'QueueActionNote: @State must be Running, Done or Failed.', 1;
    IF @State = 'Running'
    BEGIN
{{- operator.check("QueueActionNote") | indent(4) }}
    END;

    DELETE a
    FROM (
        SELECT TOP (100) o.[ActionId]
        FROM {{ object("QueueAction") }} AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE o.[EndedAt] < DATEADD(DAY, -90, @_Now)
        ORDER BY o.[EndedAt]
    ) AS f
    INNER JOIN {{ object("QueueAction") }} AS a WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON a.[ActionId] = f.[ActionId];

    INSERT INTO {{ object("QueueAction") }} (
        [Queue], [Verb], [Who], [Login], [Filter], [State], [BegunAt], [EndedAt], [LeaseUntil], [Expected], [Done], [Refused], [Result]
    )
    VALUES (
        @Queue, @Verb, @Who, ORIGINAL_LOGIN(), @Filter, @State, @_Now, CASE WHEN @State <> 'Running' THEN @_Now END,
        /* Its caller comes first. */
        CASE WHEN @State = 'Running' THEN DATEADD(SECOND, 10, @_Now) END, @Expected, @Done, @Refused, @Result
    );
    SELECT CAST(SCOPE_IDENTITY() AS bigint) AS [ActionId];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueActionStep") %}
/*
Moves an action on many items on: adds what its holder has done since the last call, keeps the place, extends the lease, and ends the
action with @State Done, Cancelled or Failed. The first call takes an action that nobody holds. Without an @Owner it asks for a cancel,
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Items on their way to another place are in the
filter of their record (rebalance), so it cannot be cancelled, and its end forgets them. Returns the state, or NULL where the action
has ended or another process holds it.
Table access order: QueueAction.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueActionStep") }}
    @ActionId bigint, @Owner nvarchar(128), @LeaseMs int, @Done bigint, @Refused bigint, @Place nvarchar(4000), @State varchar(20),
    @Result nvarchar(4000)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @Queue varchar(40), @_Redrive nvarchar(520), @_Found int;

    IF @State NOT IN ('Done', 'Cancelled', 'Failed')
        THROW 50021, N'QueueActionStep: @State must be Done, Cancelled or Failed.', 1;
    IF (@State IS NOT NULL AND @Owner IS NULL) OR (@Owner IS NOT NULL AND @LeaseMs IS NULL)
        THROW 50021, N'QueueActionStep: @State needs an @Owner, and that a @LeaseMs.', 1;
    SELECT @Queue = a.[Queue] FROM {{ object("QueueAction") }} AS a WHERE a.[ActionId] = @ActionId;
{{- operator.check("QueueActionStep") }}

    UPDATE a
    SET
        [State] = COALESCE(
            @State, CASE WHEN @Owner IS NOT NULL THEN a.[State] WHEN a.[Owner] IS NOT NULL AND a.[LeaseUntil] > @_Now THEN 'Cancelling' ELSE 'Cancelled' END
        ),
        [Done] = a.[Done] + COALESCE(@Done, 0), [Refused] = a.[Refused] + COALESCE(@Refused, 0),
        [Filter] = CASE WHEN a.[Verb] <> 'rebalance' OR COALESCE(@State, '') <> 'Done' THEN a.[Filter] END,
        [Place] = COALESCE(@Place, a.[Place]), [Result] = COALESCE(@Result, a.[Result]), [Owner] = COALESCE(@Owner, a.[Owner]),
        [LeaseUntil] = CASE WHEN @Owner IS NULL THEN a.[LeaseUntil] ELSE DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
        [EndedAt] = CASE
            WHEN @State IS NOT NULL OR (@Owner IS NULL AND (a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now)) THEN @_Now
        END
    FROM {{ object("QueueAction") }} AS a WITH (ROWLOCK)
    WHERE
        a.[ActionId] = @ActionId AND a.[EndedAt] IS NULL
        AND (@Owner IS NULL OR a.[Owner] = @Owner OR a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now)
        AND (@Owner IS NOT NULL OR a.[Verb] <> 'rebalance');
    SET @_Found = @@ROWCOUNT;

    SELECT CASE WHEN @_Found = 1 THEN (SELECT a.[State] FROM {{ object("QueueAction") }} AS a WHERE a.[ActionId] = @ActionId) END AS [State];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueWorkersSeen") %}
/*
A process reports its workers, {"queue", "worker", "grace"} in @Workers: when one begins and then every half minute, those of all its
queues at once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
With a grace in milliseconds, sessions of the worker hold its lock (QueueLifelineTake); with 0 they do not. It counts only for queues from which the
login may claim: it has the items of a worker taken whose lock is free.
Table access order: QueueLifeline, QueueWorker.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueWorkersSeen") }}
    @Workers nvarchar(max), @Host nvarchar(128), @Process bigint, @Version varchar(40)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Seen TABLE (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) NOT NULL, [GraceMs] int NULL, PRIMARY KEY ([Queue], [Worker])
    );
    DECLARE @_Count int, @_Began datetime2(7) = {{ lifeline.server_began() }};

    INSERT INTO @_Seen ([Queue], [Worker], [GraceMs])
    SELECT
        j.[Queue], j.[Worker],
        /* Asked here: the procedures of one owner call each other without a check. */
        CASE
            WHEN HAS_PERMS_BY_NAME({{ text(schema ~ ".") }} + QUOTENAME(N'Next_' + j.[Queue] + N'_Set_trx'), N'OBJECT', N'EXECUTE') = 1
                THEN MIN(j.[GraceMs])
        END
    FROM OPENJSON(@Workers) WITH ([Queue] varchar(40) '$.queue', [Worker] nvarchar(128) '$.worker', [GraceMs] int '$.grace') AS j
    GROUP BY j.[Queue], j.[Worker];
    SET @_Count = @@ROWCOUNT;

    DELETE f
    FROM @_Seen AS s
    INNER JOIN {{ object("QueueLifeline") }} AS f WITH (ROWLOCK) ON f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
    WHERE s.[GraceMs] = 0;

    UPDATE f
    SET [GraceMs] = s.[GraceMs], [ServerBegan] = @_Began, [FreeSince] = NULL
    FROM @_Seen AS s
    INNER JOIN {{ object("QueueLifeline") }} AS f WITH (ROWLOCK) ON f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
    WHERE s.[GraceMs] > 0 AND (f.[GraceMs] <> s.[GraceMs] OR f.[ServerBegan] <> @_Began);

    /* Not where the server does not let it be known when it began (Azure SQL Database). */
    INSERT INTO {{ object("QueueLifeline") }} ([Queue], [Worker], [GraceMs], [ServerBegan])
    SELECT s.[Queue], s.[Worker], s.[GraceMs], @_Began
    FROM @_Seen AS s
    WHERE
        s.[GraceMs] > 0 AND @_Began IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM {{ object("QueueLifeline") }} AS f WITH (UPDLOCK, SERIALIZABLE)
            WHERE f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
        )
    ORDER BY s.[Queue], s.[Worker];

    UPDATE w
    SET
        [SeenAt] = @_Now, [Host] = @Host, [Process] = @Process, [Version] = @Version,
        [StartedAt] = CASE
            WHEN w.[Host] = @Host AND w.[Process] = @Process AND w.[Version] = @Version THEN w.[StartedAt]
            ELSE @_Now
        END
    FROM @_Seen AS s
    INNER JOIN {{ object("QueueWorker") }} AS w WITH (ROWLOCK) ON w.[Queue] = s.[Queue] AND w.[Worker] = s.[Worker];
    IF @@ROWCOUNT = @_Count RETURN 0;

    DELETE TOP (1000) w
    FROM {{ object("QueueWorker") }} AS w WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE w.[Queue] IN (SELECT s.[Queue] FROM @_Seen AS s) AND w.[SeenAt] < DATEADD(DAY, -7, @_Now);

    DELETE f
    FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE
        f.[Queue] IN (SELECT s.[Queue] FROM @_Seen AS s) AND f.[ServerBegan] <> @_Began
        AND NOT EXISTS (
            SELECT 1 FROM {{ object("QueueWorker") }} AS w WITH (ROWLOCK)
            WHERE w.[Queue] = f.[Queue] AND w.[Worker] COLLATE Latin1_General_BIN2 = f.[Worker]
        );

    INSERT INTO {{ object("QueueWorker") }} ([Queue], [Worker], [Host], [Process], [Version], [StartedAt], [SeenAt])
    SELECT s.[Queue], s.[Worker], @Host, @Process, @Version, @_Now, @_Now
    FROM @_Seen AS s
    WHERE NOT EXISTS (
        SELECT 1 FROM {{ object("QueueWorker") }} AS w WITH (UPDLOCK, SERIALIZABLE)
        WHERE w.[Queue] = s.[Queue] AND w.[Worker] = s.[Worker]
    )
    ORDER BY s.[Queue], s.[Worker];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueMinuteKeep") %}
/*
Keeps figures as those of this minute, where no other process has: @Minutes is a JSON array of objects with a queue's name and its figures.
One without figures asks whether no process keeps them. A row for each that was kept, or is to be: its place in @Minutes. Minutes before
yesterday go.
Table access order: QueueMinute.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueMinuteKeep") }}
    @Minutes nvarchar(max)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_At datetime2(0) = DATEADD(MINUTE, DATEDIFF(MINUTE, '2020-01-01', @_Now), CAST('2020-01-01' AS datetime2(0)));
    DECLARE @_Given TABLE (
        [Place] int NOT NULL PRIMARY KEY, [Queue] varchar(40) NOT NULL, [Due] bigint NULL, [OldestMs] bigint NULL,
        [InFlight] bigint NULL, [Failed] bigint NULL, [Ended] bigint NULL
    );
    DECLARE @_Kept TABLE ([Queue] varchar(40) NOT NULL PRIMARY KEY);
    INSERT INTO @_Given ([Place], [Queue], [Due], [OldestMs], [InFlight], [Failed], [Ended])
    SELECT CAST(j.[key] AS int), m.[Queue], m.[Due], m.[OldestMs], m.[InFlight], m.[Failed], m.[Ended]
    FROM OPENJSON(@Minutes) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Queue] varchar(40) '$.queue', [Due] bigint '$.due', [OldestMs] bigint '$.oldest_ms', [InFlight] bigint '$.in_flight',
        [Failed] bigint '$.failed', [Ended] bigint '$.ended'
    ) AS m;

    INSERT INTO {{ object("QueueMinute") }} ([Queue], [At], [Due], [OldestMs], [InFlight], [Failed], [Ended])
    OUTPUT inserted.[Queue] INTO @_Kept ([Queue])
    SELECT g.[Queue], @_At, g.[Due], g.[OldestMs], g.[InFlight], g.[Failed], g.[Ended]
    FROM @_Given AS g
    WHERE
        g.[Due] IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM {{ object("QueueMinute") }} AS m WITH (UPDLOCK, SERIALIZABLE) WHERE m.[Queue] = g.[Queue] AND m.[At] = @_At
        )
    ORDER BY g.[Queue];

    DELETE m
    FROM @_Kept AS k
    INNER JOIN {{ object("QueueMinute") }} AS m WITH (ROWLOCK)
        ON m.[Queue] = k.[Queue]
    WHERE m.[At] < DATEADD(HOUR, -25, @_At);

    SELECT g.[Place]
    FROM @_Given AS g
    WHERE
        EXISTS (SELECT 1 FROM @_Kept AS k WHERE k.[Queue] = g.[Queue])
        OR (
            g.[Due] IS NULL
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object("QueueMinute") }} AS m WITH (READCOMMITTEDLOCK)
                WHERE m.[Queue] = g.[Queue] AND m.[At] > DATEADD(SECOND, -150, @_At)
            )
        )
    ORDER BY g.[Place];
END;
{% endfilter %}
