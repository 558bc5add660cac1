    DECLARE @RecoverMax int = {{ recover_max }};
    DECLARE @Searched int = 0;
    DECLARE @Candidate TABLE (
{{- n.declared(key) }}
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
    DECLARE @Gone TABLE (
{{- n.declared(key) }}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
