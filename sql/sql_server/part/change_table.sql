    /* Items as they become, whatever the reason. */
    DECLARE @_Change TABLE (
{{- item.declared(t) }}
        [Was] varchar(20) NOT NULL,
        [Status] varchar(20) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Token] datetime2(7) NOT NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [StartedAt] datetime2(7) NULL,
        [FinishedAt] datetime2(7) NULL,
        [Duration] bigint NULL,
        [DueAt] datetime2(7) NULL,
        [LeaseOwner] nvarchar(128) NULL,
        [LeaseUntil] datetime2(7) NULL,
{%- if beside and marks_claims %}
        [ClaimNum] bigint NULL,
{%- endif %}
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
    DECLARE @_Written int = 0;
{%- if beside %}
    DECLARE @_Kept int;
{%- endif %}
