{#- What is set: only columns that may be, and nothing that is deleted with its item. -#}
{%- set names = settable | map(attribute="name") | list + subtypes | map(attribute="name") | list %}
    SET @_Sets = CASE WHEN EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL) THEN 1 ELSE 0 END;
    IF @_Sets = 1
    BEGIN
        SET @_NoSet = (
            SELECT MIN(x.[Why])
            FROM (
                SELECT CONCAT(N'there is no column ', n.[key], N' to set') AS [Why]
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
{%- if names %}
                WHERE
                    n.[key] NOT IN (
                        {% for name in names %}N'{{ name }}'{{ (",\n                        " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                    )
{%- endif %}
{%- for u in t.subtypes %}
                UNION ALL
                SELECT CONCAT(N'there is no column {{ u.name }}.', n.[key], N' to set')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."{{ u.name }}"') AS n
                WHERE
                    n.[key] NOT IN (
                        {% for c in u.columns %}N'{{ c.name }}'{{ (",\n                        " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                    )
{%- endfor %}
{%- if completion == "delete" %}
                UNION ALL
                SELECT N'what is completed is deleted, with all that is set'
                FROM @_Item AS i
                WHERE i.[Set] IS NOT NULL AND i.[Status] = 'Completed'
{%- endif %}
            ) AS x
        );
        IF @_NoSet IS NOT NULL
        BEGIN
            SET @_NoSet = CONCAT(N'{{ procedure }}: ', @_NoSet, N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;
