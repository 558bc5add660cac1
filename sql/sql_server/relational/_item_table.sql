    DECLARE @Changed int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [EnqueuedAt] datetime2(7) NULL,
        [Ordinal] int NOT NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [ScheduledFor] datetime2(7) NULL,
        [DelayMs] bigint NULL,
        [Release] bit NULL,
        UNIQUE CLUSTERED ([EnqueuedAt], [Ordinal])
    );
    DECLARE @Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [EnqueuedAt] datetime2(7) NULL,
        [Answer] varchar(20) NOT NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );
