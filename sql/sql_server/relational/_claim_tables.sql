    DECLARE @Locked int;
    DECLARE @Claimed int;
{%- if own_types_only %}
    DECLARE @OwnType nvarchar(60);
    DECLARE @OwnTypes TABLE ([Type] nvarchar(60) NOT NULL PRIMARY KEY, [Head] datetime2(7) NOT NULL);
{%- endif %}
    DECLARE @Alone int;
    DECLARE @Expired TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [StartedAt] datetime2(7) NOT NULL,
        [Together] int NOT NULL DEFAULT 0 /* 1: claimed with others */
    );
    DECLARE @Recovered TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [AttemptNum] int NOT NULL,
        [Status] varchar(20) NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL
    );
    DECLARE @Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [ScheduledFor] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Status] varchar(20) NOT NULL,
        [Alone] int NOT NULL /* 1: came back from a dead worker */{% if priority %},
        [Priority] bigint NULL{% endif %}
    );
