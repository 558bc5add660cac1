{#-
Values to set: only columns that may be, to values that they can have (OPENJSON makes NULL of others), and nothing that is
deleted with its item.
-#}
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
                /* With an end: a comparison takes no notice of blanks there. */
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        {% for name in names %}N'{{ name }}.'{{ (",\n                        " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                    )
{%- endif %}
{%- set documents = settable | selectattr("is_json") | map(attribute="name") | list %}
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
                WHERE
                    CASE
{%- if documents %}
                        WHEN n.[key] IN ({% for name in documents %}N'{{ name }}'{{ ", " if not loop.last }}{% endfor %})
                            THEN CASE WHEN n.[type] IN (0, 4, 5) THEN 0 ELSE 1 END
{%- endif %}
{%- if t.subtypes %}
                        WHEN n.[key] IN ({% for u in t.subtypes %}N'{{ u.name }}'{{ ", " if not loop.last }}{% endfor %})
                            THEN CASE WHEN n.[type] IN (0, 5) THEN 0 ELSE 1 END
{%- endif %}
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
{%- for c in settable if c.is_binary %}
                UNION ALL
                SELECT N'{{ c.name }} takes bytes as base64'
                FROM @_Item AS i
                CROSS APPLY {{ of.undecoded(c, "OPENJSON(i.[Set])") | indent(4) }}
{%- endfor %}
{%- for u in t.subtypes %}
{%- for c in u.columns if c.is_binary %}
                UNION ALL
                SELECT N'{{ u.name }}.{{ c.name }} takes bytes as base64'
                FROM @_Item AS i
                CROSS APPLY {{ of.undecoded(c, "OPENJSON(i.[Set], '$.\"" ~ u.name ~ "\"')") | indent(4) }}
{%- endfor %}
                UNION ALL
                SELECT CONCAT(N'there is no column {{ u.name }}.', n.[key], N' to set')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."{{ u.name }}"') AS n
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        {% for c in u.columns %}N'{{ c.name }}.'{{ (",\n                        " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                    )
{%- set documents = u.columns | selectattr("is_json") | map(attribute="name") | list %}
                UNION ALL
                SELECT CONCAT(N'{{ u.name }}.', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."{{ u.name }}"') AS n
                WHERE
                    CASE
{%- if documents %}
                        WHEN n.[key] IN ({% for name in documents %}N'{{ name }}'{{ ", " if not loop.last }}{% endfor %})
                            THEN CASE WHEN n.[type] IN (0, 4, 5) THEN 0 ELSE 1 END
{%- endif %}
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
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
            /* THROW reads a % as the start of something else; doubled, it stands for itself. */
            SET @_NoSet = CONCAT(N'{{ procedure }}: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;
