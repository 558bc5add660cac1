    DECLARE @Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [EnqueuedAt] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );
