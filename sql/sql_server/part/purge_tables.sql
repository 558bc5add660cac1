    DECLARE @_Found TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
    DECLARE @_Locked TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
