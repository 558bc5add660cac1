    DECLARE @Locked int;
    DECLARE @Claimed int;
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
