    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] {{ item.key_type(t) }} NULL,
{{- item.declared(t, "NULL") }}
        [Token] datetime2(7) NULL,
{%- if not redrive %}
        [Attempt] int NULL, [Status] varchar(20) NULL, [Step] nvarchar(60) NULL, [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL, [DueAt] datetime2(7) NULL, [Release] bit NULL,
        [Set] nvarchar(max) NULL, /* a JSON object of columns */
{%- endif %}
        UNIQUE CLUSTERED ({{ item.names(t) }}, [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL,
        [Status] varchar(20) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL
{%- if presence and t.witness %},
        [Row] bigint NULL /* read from the row and no index, so that the row is locked, as by a claim */
{%- endif %}
{%- if attempt_history and not redrive %},
        /* Times of the attempt that ends. */
        [Owner] nvarchar(128) NULL, [StartedAt] datetime2(7) NULL, [Step] nvarchar(60) NULL
{%- endif %}
    );
    DECLARE @_Count int;
{% include "part/limit.sql" %}
{%- if not redrive %}
    DECLARE @_Sets bit = 0;
{%- if settable | selectattr("is_coded") | list %}
    DECLARE @_Lost nvarchar(2048);
{%- endif %}
{%- endif %}
{%- if seek %}
    DECLARE @_Looks int = 0;
{%- endif %}
