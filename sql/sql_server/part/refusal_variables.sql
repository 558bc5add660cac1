    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Refusals TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
{{- item.declared(t, "NULL") }}
        [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
