    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL,
        [Key] {{ item.key_type(t) }} NULL,
{{- item.declared(t, "NULL") }}
        [Token] datetime2(7) NULL, [AttemptNum] int NULL,
        [Status] {{ "nvarchar(500)" if refusals is defined else "varchar(20)" }} NULL
    );
