    DECLARE @_Locked int = 0;
    DECLARE @_Take int;
    DECLARE @_Alone int;
{%- if t.by_type %}
    DECLARE @_OwnType nvarchar(60);
    DECLARE @_OwnTypes TABLE ([Type] nvarchar(60) NOT NULL PRIMARY KEY, [Head] datetime2(7) NOT NULL);
{%- endif %}
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
{{- item.declared(t) }}
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
{%- if t.by_type %}
        [DueAt] datetime2(7) NOT NULL,
{%- endif %}
{%- if t.by_type and priority %}
        [Priority] bigint NULL,
{%- endif %}
{%- if t.witness %}
        [Row] bigint NULL,
{%- endif %}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
