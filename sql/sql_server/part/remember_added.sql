        IF @Operation IS NOT NULL
        BEGIN
            SET @_Result = (
                SELECT
                    a.[Ordinal] AS [ordinal], a.[Answer] AS [answer],
                    a.[Key] AS [key]{{ "," if keeps_token }}
{%- if not own %}
                    a.[Token] AS [token], a.[Status] AS [status]
{%- elif keeps_token %}
                    a.[Token] AS [token]
{%- endif %}
                FROM @_Added AS a
                FOR JSON PATH
            );
            EXECUTE {{ object("QueueOperationKeep") }} @Operation, @_Result;
        END;
