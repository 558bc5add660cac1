    DECLARE @Locked int;
    DECLARE @Claimed int;
{%- if own_types_only %}
    DECLARE @OwnType nvarchar(60);
    DECLARE @OwnTypes TABLE ([Type] nvarchar(60) NOT NULL PRIMARY KEY, [Head] datetime2(7) NOT NULL);
{%- endif %}
    DECLARE @Expired TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Recovered TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [AttemptNum] int NOT NULL,
        [Status] varchar(20) NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL
    );
    DECLARE @Due TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [ScheduledFor] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Status] varchar(20) NOT NULL{% if priority %},
        [Priority] bigint NULL{% endif %}
    );
