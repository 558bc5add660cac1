    DECLARE @RecoverMax int = {{ recover_max }};
    DECLARE @Searched int = 0;
    DECLARE @Candidate TABLE (
{{- n.declared(key) }}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
    DECLARE @Gone TABLE (
{{- n.declared(key) }}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
