{%- set changed %}{% include "part/changed.sql" %}{% endset %}
        {{ item.status(t) }} IN (SELECT w.[Status] FROM @_Wanted AS w)
        AND (@_Types IS NULL OR {{ item.plain(t, "q." ~ role.kind) if role.kind else text(types[0]) }} IN (SELECT y.[Type] FROM @_WantedType AS y))
        AND (@_Before IS NULL OR {{ changed }} < @_Before)
        AND (@_Since IS NULL OR {{ changed }} >= @_Since)
        AND (
            @_Longer IS NULL
            OR CASE
                WHEN {{ item.status(t) }} = 'Processing'
                    THEN DATEDIFF_BIG(MILLISECOND, {{ item.started(t) }}, @_Now)
                ELSE {{ item.duration(t) }}
            END > @_Longer
        )
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (@_Error IS NULL OR CHARINDEX(@_Error, {{ item.error(t) }} COLLATE Latin1_General_BIN2) > 0)
