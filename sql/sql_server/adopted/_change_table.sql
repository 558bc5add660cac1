    /* What items become: written to the table and to {{ queue }}_Lease in one way, whatever the reason. */
    DECLARE @Change TABLE (
{{- n.declared(key) }}
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
        /* The token that stood beside the table: it must stand there still when this is written. */
        [Before] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
    DECLARE @Written int;
    DECLARE @Kept int;
{%- if role.error %}
    DECLARE @ErrorChars int = COALESCE(
        (SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.errorChars'), 2147483647
    );
{%- endif %}
