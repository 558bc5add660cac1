        IF @Operation IS NOT NULL
        BEGIN
            SET @_Result = (
                SELECT
                    a.[Ordinal] AS [ordinal], a.[Answer] AS [answer],
                    a.[Key] AS [key]{{ "," if not own }}
{%- if not own %}
                    a.[Token] AS [token], a.[Status] AS [status]
{%- endif %}
                FROM @_Added AS a
                FOR JSON PATH
            );
            EXECUTE {{ object("QueueOperationKeep") }} @Operation, @_Result;
        END;
