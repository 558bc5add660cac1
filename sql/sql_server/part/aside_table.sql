    /* Items that are left aside now. */
    DECLARE @_Aside TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
