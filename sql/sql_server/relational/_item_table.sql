    DECLARE @Item table (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [EnqueuedAt] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [ScheduledFor] datetime2(7) NULL,
        [DelayMs] bigint NULL,
        [Release] bit NULL
    );
    DECLARE @Work table (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [EnqueuedAt] datetime2(7) NULL,
        [Answer] varchar(20) NOT NULL,
        [Status] varchar(20) NULL,
        [Asked] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [ScheduledFor] datetime2(7) NULL
    );
