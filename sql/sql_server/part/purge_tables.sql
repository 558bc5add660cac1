    DECLARE @_Found TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
    DECLARE @_Locked TABLE (
{{- item.declared(t) }}
{{- "\n        [Row] bigint NULL, /* read from the row and no index, so that the row is locked, as by a claim */" if presence and t.witness }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
