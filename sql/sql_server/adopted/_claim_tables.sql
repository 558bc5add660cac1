    DECLARE @Locked int;
    DECLARE @Alone int;
    DECLARE @MaxAttempts int;
    DECLARE @SilentMs int;
    DECLARE @Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
{{- n.declared(key) }}
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
{%- if witness %}
        [Row] bigint NULL,
{%- endif %}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
