    DECLARE @First bigint;
    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Number] bigint NOT NULL,
        [EnqueuedAt] datetime2(7) NULL,
        [ScheduledFor] datetime2(7) NOT NULL,
        [Type] nvarchar(60) NOT NULL,
        [Step] nvarchar(60) NULL{% for column in work %},
        [Work{{ loop.index }}] {{ column.type }} NULL{% endfor %}
    );
{%- if dedup %}
    /* What is there already. */
    DECLARE @Seen TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [EnqueuedAt] datetime2(7) NULL);
{%- endif %}
