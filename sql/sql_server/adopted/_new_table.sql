    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Type] nvarchar(60) NULL,
        [Step] nvarchar(60) NULL,
        [DueAt] datetime2(7) NULL,
        [First] int NULL,
{%- for c in columns %}{% if c.quoted in dedup_columns %}
        [Work{{ loop.index }}] {{ c.type }} NULL,
{%- endif %}{% endfor %}
{{- n.declared(key, "NULL") }}
        [IsNew] bit NOT NULL DEFAULT 1
    );
    DECLARE @Added TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Key] nvarchar(max) NULL
    );
{%- if numbered %}
    DECLARE @Made TABLE (
{{- n.declared(key) }}
        PRIMARY KEY ({{ n.names(key) }})
    );
{%- endif %}
    DECLARE @Count int;
