{%- set changed = "COALESCE(s.[UpdatedAt], " ~ n.utc("q." ~ role.enqueued, local_time, offset) ~ ")" if role.enqueued else "s.[UpdatedAt]" %}
{% filter indent(12, true) %}{% include "adopted/_status.sql" %}{% endfilter %}
            IN (SELECT w.[Status] FROM @Wanted AS w)
        AND (@Types IS NULL OR {{ n.plain("q." ~ role.kind) if role.kind else text(types[0]) }} IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
        AND (@Before IS NULL OR {{ changed }} < @Before)
        AND (@Since IS NULL OR {{ changed }} >= @Since)
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (
            @Error IS NULL
            OR CHARINDEX(@Error, {{ n.kept_text(role.error, "[Error]") }} COLLATE Latin1_General_BIN2) > 0
        )
