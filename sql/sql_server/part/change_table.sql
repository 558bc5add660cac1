    /* Items as they become. */
    DECLARE @_Change TABLE (
{{- item.declared(t) }}
{%- if beside %}
        [Was] varchar(20) NOT NULL,
{%- endif %}
        [Status] varchar(20) NOT NULL, [AttemptNum] int NOT NULL, [Token] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL,
{%- if beside or attempt_history %}
        [Step] nvarchar(60) NULL, [StartedAt] datetime2(7) NULL, [LeaseOwner] nvarchar(128) NULL,
{%- endif %}
{%- if beside or role.finished %}
        [FinishedAt] datetime2(7) NULL,
{%- endif %}
        [Duration] bigint NULL,
{%- if beside %}
        [Response] nvarchar(max) NULL, [DueAt] datetime2(7) NULL,
{{- "\n        [ClaimNum] bigint NULL," if marks_claims }}
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
{{- "\n        [Row] bigint NULL, /* read from the row and no index, so that the row is locked, as by a claim */" if presence and t.witness }}
{%- endif %}
        [LeaseUntil] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
    DECLARE @_Written int = 0;
{%- if beside %}
    DECLARE @_Kept int;
{%- endif %}
