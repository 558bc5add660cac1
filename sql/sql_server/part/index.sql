{#-
Whether a table lacks an index. There are servers that add to the name of an index what makes it unique in the database:
it ends in 32 hexadecimal digits then.
-#}
{%- macro lacks(table, name) -%}
NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE
        i.[object_id] = OBJECT_ID({{ table }})
        AND (
            i.[name] = N'{{ name }}'
            OR (
                LEFT(i.[name], {{ name | length }}) = N'{{ name }}'
                AND LEN(i.[name]) >= {{ name | length + 32 }}
                AND PATINDEX(N'%[^0-9a-f]%', RIGHT(i.[name], 32)) = 0
            )
        )
)
{%- endmacro -%}
{#-
An index on somebody else's table, made without stopping its writers where the edition can (Enterprise and Developer,
Azure).
-#}
{%- macro online(table_text, table, name, columns, include="") -%}
IF {{ lacks(table_text, name) }}
BEGIN
    IF CAST(SERVERPROPERTY('EngineEdition') AS int) IN (3, 5, 8)
        CREATE NONCLUSTERED INDEX [{{ name }}] ON {{ table }} ({{ columns }}){{ include }} WITH (ONLINE = ON);
    ELSE
        CREATE NONCLUSTERED INDEX [{{ name }}] ON {{ table }} ({{ columns }}){{ include }};
END;
{%- endmacro -%}
{%- macro listed(columns) %}{% for c in columns %}{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
