{%- import "macro/operator.sql" as operator -%}
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
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Returns the state, or NULL where the action
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
        [Place] = COALESCE(@Place, a.[Place]), [Result] = COALESCE(@Result, a.[Result]), [Owner] = COALESCE(@Owner, a.[Owner]),
        [LeaseUntil] = CASE WHEN @Owner IS NULL THEN a.[LeaseUntil] ELSE DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
        [EndedAt] = CASE
            WHEN @State IS NOT NULL OR (@Owner IS NULL AND (a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now)) THEN @_Now
        END
    FROM {{ object("QueueAction") }} AS a WITH (ROWLOCK)
    WHERE
        a.[ActionId] = @ActionId AND a.[EndedAt] IS NULL
        AND (@Owner IS NULL OR a.[Owner] = @Owner OR a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now);
    SET @_Found = @@ROWCOUNT;

    SELECT CASE WHEN @_Found = 1 THEN (SELECT a.[State] FROM {{ object("QueueAction") }} AS a WHERE a.[ActionId] = @ActionId) END AS [State];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueWorkersSeen") %}
/*
A process reports its workers, {"queue", "worker"} in @Workers: when one begins and then every half minute, those of all its queues at
once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
Table access order: QueueWorker.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueWorkersSeen") }}
    @Workers nvarchar(max), @Host nvarchar(128), @Process bigint, @Version varchar(40)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Seen TABLE ([Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) NOT NULL, PRIMARY KEY ([Queue], [Worker]));
    DECLARE @_Count int;

    INSERT INTO @_Seen ([Queue], [Worker])
    SELECT DISTINCT j.[Queue], j.[Worker]
    FROM OPENJSON(@Workers) WITH ([Queue] varchar(40) '$.queue', [Worker] nvarchar(128) '$.worker') AS j;
    SET @_Count = @@ROWCOUNT;

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
The figures of this minute. Without @Due it asks for the turn to take them: 1 for one of all who ask in a minute, who then calls this
with the figures. Minutes before yesterday go.
Table access order: QueueMinute.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueMinuteKeep") }}
    @Queue varchar(40), @Due bigint, @OldestMs bigint, @InFlight bigint, @Failed bigint, @Ended bigint
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_At datetime2(0) = DATEADD(MINUTE, DATEDIFF(MINUTE, '2020-01-01', @_Now), CAST('2020-01-01' AS datetime2(0)));
    DECLARE @_Kept int = 0;

    IF @Due IS NOT NULL
    BEGIN
        UPDATE m
        SET [Due] = @Due, [OldestMs] = @OldestMs, [InFlight] = @InFlight, [Failed] = @Failed, [Ended] = @Ended
        FROM {{ object("QueueMinute") }} AS m WITH (ROWLOCK)
        WHERE
            m.[Queue] = @Queue AND m.[Due] IS NULL
            AND m.[At] = (
                SELECT MAX(n.[At])
                FROM {{ object("QueueMinute") }} AS n WITH (READCOMMITTEDLOCK)
                WHERE n.[Queue] = @Queue AND n.[At] > DATEADD(MINUTE, -2, @_At)
            );
        SET @_Kept = @@ROWCOUNT;
    END;
    ELSE IF NOT EXISTS (
        SELECT 1 FROM {{ object("QueueMinute") }} AS m WITH (READCOMMITTEDLOCK) WHERE m.[Queue] = @Queue AND m.[At] = @_At
    )
    BEGIN
        INSERT INTO {{ object("QueueMinute") }} ([Queue], [At])
        SELECT @Queue, @_At
        WHERE NOT EXISTS (
            SELECT 1 FROM {{ object("QueueMinute") }} AS m WITH (UPDLOCK, SERIALIZABLE) WHERE m.[Queue] = @Queue AND m.[At] = @_At
        );
        SET @_Kept = @@ROWCOUNT;
        IF @_Kept = 1
            DELETE m
            FROM {{ object("QueueMinute") }} AS m WITH (ROWLOCK)
            WHERE m.[Queue] = @Queue AND m.[At] < DATEADD(HOUR, -25, @_At);
    END;

    SELECT CAST(@_Kept AS bit) AS [Kept];
END;
{% endfilter %}
