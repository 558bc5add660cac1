    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
{{- n.declared(key, "NULL") }}
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL,
        [Release] bit NULL,
        UNIQUE CLUSTERED ({{ n.names(key) }}, [Ordinal])
    );
    DECLARE @Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Was] varchar(20) NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );
    DECLARE @Looks int = 0;
