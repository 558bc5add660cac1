    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0, @_Dead nvarchar(128), @_Over nvarchar(128); /* a worker whose lock is free; nothing of it is left */
    DECLARE @_Candidate TABLE (
{{- item.declared(t) }}
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
{%- if beside %}
    DECLARE @_Gone TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
{%- endif %}
