    DECLARE @_Count int;
{%- if t.given | selectattr("is_coded") | list %}
    DECLARE @_Lost nvarchar(2048);
{%- endif %}
    /* Each element read once: what is put into the table, and by what it is recognized. */
    DECLARE @_New TABLE (
{%- for c in t.given %}
        {{ c.var }} {{ c.read_type }} NULL,
{%- endfor %}
{%- for u in t.subtypes %}
        [{{ u.alias }}] nvarchar(max) NULL,
{%- for c in u.columns %}
        {{ c.var }} {{ c.json_type }} NULL,
{%- endfor %}
{%- endfor %}
{{- item.declared(t, "NULL") }}
        [Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(60) NULL, [Step] nvarchar(60) NULL, [DueAt] datetime2(7) NULL{{ ",\n        [Waits] bit NOT NULL" if after }}{{ "," if dedup }}
{%- if dedup %}
        [First] int NULL, {{ "[Last] int NULL, " if dedup.replaces }}[IsNew] bit NOT NULL DEFAULT 1
{%- endif %}
    );
    DECLARE @_Added TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL,
        [Key] {{ item.key_type(t) }} NULL{{ "," if keeps_token }}
{%- if not own %}
        [Token] datetime2(7) NULL, [Status] varchar(20) NULL
{%- elif keeps_token %}
        [Token] datetime2(7) NULL
{%- endif %}
    );
{%- if dedup and dedup.replaces %}
    /* The same work: where it was found, and its rows as they were when they were locked, with the tokens that they get. */
    DECLARE @_Round int;
    DECLARE @_Found TABLE (
{{- item.declared(t) }}
        [Ordinal] int NOT NULL,
        PRIMARY KEY ({{ item.names(t) }}, [Ordinal])
    );
    DECLARE @_Same TABLE (
{{- item.declared(t) }}
        [Ordinal] int NOT NULL, [Round] int NOT NULL, [Status] varchar(20) NOT NULL, [Token] datetime2(7) NOT NULL,
        [DueAt] datetime2(7) NOT NULL,
        PRIMARY KEY ({{ item.names(t) }})
    );
{%- endif %}
{%- if own %}
    DECLARE @_First bigint;
{%- if group %}
    DECLARE @_Tick datetime2(7), @_Last datetime2(7);
{%- endif %}
    DECLARE @_Number TABLE ([Number] bigint NOT NULL PRIMARY KEY);
{%- elif t.numbered %}
    DECLARE @_Made TABLE (
{{- item.declared(t) }}
        PRIMARY KEY ({{ item.names(t) }})
    );
{%- endif %}
