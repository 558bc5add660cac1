{%- import "macro/lifeline.sql" as lifeline -%}
{% filter made("PROCEDURE", "QueueLifelineTake") %}
/*
The session takes the lock of its worker, beside the other sessions of that process. The server frees it with the last of them. A
recovery that has it just now takes the worker's items, and is waited for. The lock was free before: that counts no more. Any login could
take the lock: then the lease decides.
Table access order: QueueLifeline.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueLifelineTake") }}
    @Queue varchar(40), @Worker nvarchar(128)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Lock nvarchar(255) = {{ lifeline.lock("@Worker") }}, @_Code int;

    EXECUTE @_Code = sys.sp_getapplock
        @Resource = @_Lock, @LockMode = 'Shared', @LockOwner = 'Session', @LockTimeout = 10000, @DbPrincipal = 'public';
    IF @_Code < 0
        THROW 50013, N'QueueLifelineTake: the lock of the worker is held by a recovery that does not end.', 1;

    UPDATE f
    SET [FreeSince] = NULL
    FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK)
    WHERE f.[Queue] = @Queue AND f.[Worker] = @Worker AND f.[FreeSince] IS NOT NULL;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueLifelineLook") %}
/*
One of all who look or claim notes whose locks are free, twice a second at most, and has recovery come at once where one has been
free for the grace of its worker. Nobody waits here, and no lock of a worker is kept.
Table access order: QueueRecovery, then QueueLifeline, each passed over when somebody holds the row.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueLifelineLook") }}
    @Queue varchar(40), @Now datetime2(7)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Began datetime2(7) = {{ lifeline.server_began() }};

    UPDATE r
    SET [LookedAt] = @Now
    FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @Now)) >= 500;
    IF @@ROWCOUNT = 0 OR NOT EXISTS (SELECT 1 FROM {{ object("QueueLifeline") }} AS f WITH (READUNCOMMITTED) WHERE f.[Queue] = @Queue) RETURN;

    UPDATE f
    SET [FreeSince] = CASE WHEN l.[Free] = 1 THEN @Now END
    FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    CROSS APPLY (
        SELECT
            CASE
                WHEN {{ lifeline.is_not_own("f.[Worker]") }}
                    THEN APPLOCK_TEST(N'public', {{ lifeline.lock("f.[Worker]") }}, N'Exclusive', N'Session')
                ELSE 0
            END AS [Free]
    ) AS l
    WHERE
        f.[Queue] = @Queue AND f.[ServerBegan] = @_Began
        AND CASE WHEN f.[FreeSince] IS NULL THEN 0 ELSE 1 END <> l.[Free];

    IF EXISTS (
        SELECT 1
        FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE f.[Queue] = @Queue AND {{ lifeline.is_dead("f", "@_Began", "@Now") }}
    )
        UPDATE r
        SET [RecoveredAt] = '0001-01-01'
        FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = @Queue AND r.[RecoveredAt] > '0001-01-01';
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueRecoveryGoesOn") %}
/*
There may be more items of dead workers: the next who comes goes on at once. The caller has the turn. All of @Dead are given back, if it
is given.
Table access order: QueueRecovery, then QueueLifeline.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueRecoveryGoesOn") }}
    @Queue varchar(40), @Dead nvarchar(128)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE r
    SET [RecoveredAt] = '0001-01-01'
    FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK)
    WHERE r.[Queue] = @Queue;

    DELETE f
    FROM {{ object("QueueLifeline") }} AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE f.[Queue] = @Queue AND f.[Worker] = @Dead;
END;
{% endfilter %}
