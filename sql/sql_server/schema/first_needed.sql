{#- Objects of the schema that come with the first queue that needs them, and stay for the others when it goes. -#}
{% import "macro/index.sql" as index_of -%}
{%- if group or limits %}
{% filter made("TABLE", "QueueTurn") %}
/*
A row for each queue with groups or limits. Claims of such a queue take turns: each locks the row to the end of its transaction.
Only the procedures can lock it, hence nobody who may not claim: an application lock of the role public could be taken, and
kept, by any login. Position is the key of a limit that had its turn last: the next claim begins behind it.
*/
IF OBJECT_ID({{ literal("QueueTurn") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTurn") }} (
        [Queue] varchar(40) NOT NULL, [Position] nvarchar(300) NULL,
        CONSTRAINT [PK_QueueTurn] PRIMARY KEY CLUSTERED ([Queue])
    );
{% endfilter %}
{% filter made("PROCEDURE", "QueueTurnTake") %}
/*
The turn of a queue with groups or limits: one claim at a time, to the end of its transaction, since which items are the first of their
groups, or have room, is not decided by two at once. It comes before the locks of items, so that nobody waits for it who holds one. It is a row,
since only who may claim can lock it through here.
Table access order: QueueTurn.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueTurnTake") }}
    @Queue varchar(40)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Locked int, @_Message nvarchar(2048);

    SELECT @_Locked = COUNT(*)
    FROM {{ object("QueueTurn") }} AS t WITH (UPDLOCK, ROWLOCK)
    WHERE t.[Queue] = @Queue;
    IF @_Locked = 0
    BEGIN
        SET @_Message = REPLACE(CONCAT(@Queue, N': its row in QueueTurn is gone; install the queue again.'), N'%', N'%%');
        THROW 50014, @_Message, 1;
    END;
END;
{% endfilter %}
{%- endif %}
{%- if limits %}
{% filter made("TABLE", "QueueLimit") %}
/*
The limits of queues that have some: a row for each limit (Key is ''), and one for each key of it that was given limits of its own or has
begun something at its rate. By is the column, '' for the limit of the whole queue; AtOnce and the rate (Rate starts in RateMs, Burst of
them at once) are NULL where the description holds, and hold Until then, or until another change. A rate has left Tokens at TokensAt, and all
of them at FullAt. Claims write it in their turn. Times are UTC.
*/
IF OBJECT_ID({{ literal("QueueLimit") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueLimit") }} (
        [Queue] varchar(40) NOT NULL, [By] nvarchar(128) NOT NULL, [Key] nvarchar(300) NOT NULL,
        [HasRate] bit NOT NULL, [AtOnce] int NULL, [Rate] int NULL, [RateMs] bigint NULL, [Burst] int NULL,
        [Tokens] float NULL, [TokensAt] datetime2(7) NULL, [FullAt] datetime2(7) NULL, [Who] nvarchar(200) NULL, [Login] nvarchar(128) NULL,
        [Reason] nvarchar(400) NULL, [SetAt] datetime2(7) NULL, [Until] datetime2(7) NULL,
        CONSTRAINT [PK_QueueLimit] PRIMARY KEY CLUSTERED ([Queue], [By], [Key])
    );
{% endfilter %}
{%- endif %}
{%- if retention or attempt_retention %}
{% filter made("TABLE", "QueueRetention") %}
/*
A row for each queue whose description says how long items stay that have ended, and when what was over was last deleted, to
the end. Who deletes locks the row meanwhile, and others pass over it: one at a time.
*/
IF OBJECT_ID({{ literal("QueueRetention") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueRetention") }} (
        [Queue] varchar(40) NOT NULL, [DoneAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueRetention] PRIMARY KEY CLUSTERED ([Queue])
    );
{% endfilter %}
{%- endif %}
{%- if schedules is not none %}
{% filter made("TABLE", "QueueSchedule") %}
/* When each queue puts items in by itself. [NextAt] moves on in the commit that puts an item in; NULL: it is not computed yet. */
IF OBJECT_ID({{ literal("QueueSchedule") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueSchedule") }} (
        [Queue] varchar(40) NOT NULL, [Name] nvarchar(100) COLLATE Latin1_General_BIN2 NOT NULL,
        [Cron] nvarchar(200) NOT NULL, [Zone] varchar(64) NOT NULL,
        [Items] nvarchar(max) NOT NULL, [Missed] varchar(10) NOT NULL, [Overlap] varchar(10) NOT NULL,
        [Described] bit NOT NULL, /* 1: the description has it */
        [Enabled] bit NOT NULL, [NextAt] datetime2(7) NULL, [LastAt] datetime2(7) NULL, [FiredAt] datetime2(7) NULL,
        [LastKey] nvarchar(400) NULL, [LastAnswer] varchar(20) NULL,
        CONSTRAINT [PK_QueueSchedule] PRIMARY KEY CLUSTERED ([Queue], [Name])
    );
{% endfilter %}
{% call index_of.create("IX_QueueSchedule_NextAt", "QueueSchedule", [column("Queue"), column("NextAt"), column("Name")], include=[column("Enabled")]) %}
/* The next to fire, of however many. */
{%- endcall %}
{%- endif %}
