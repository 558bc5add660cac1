{#-
An index, made where the table lacks it. `on` is the name of a table of ours, or the place of somebody else's; the call's
body is the comment. `online` makes it without stopping the table's writers where the edition can (Enterprise and
Developer, Azure).
-#}
{%- macro create(name, on, columns, include=[], where="", unique=false, online=false) -%}
{%- set place = object(on) if on is string else on.quoted -%}
{%- set definition -%}
CREATE {{ "UNIQUE " if unique }}NONCLUSTERED INDEX [{{ name }}] ON {{ place }} ({{ listed(columns) }})
{%- if include %} INCLUDE ({{ listed(include) }}){% endif %}
{%- endset -%}
{%- filter made("INDEX", name, on=on, columns=columns, include=include, where=where, unique=unique) -%}
{{ caller() }}
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID({{ text(place) }}) AND i.[name] = N'{{ name }}')
{%- if online %}
{{ edition(definition) }}
{%- else %}
    {{ definition }}
    {%- if where %}
    WHERE {{ where }}
    {%- endif -%}
;
{%- endif %}
{%- endfilter -%}
{%- endmacro -%}
{%- macro edition(definition) -%}
BEGIN
    IF CAST(SERVERPROPERTY('EngineEdition') AS int) IN (3, 5, 8)
        {{ definition }} WITH (ONLINE = ON);
    ELSE
        {{ definition }};
END;
{%- endmacro -%}
{%- macro listed(columns) %}{% for c in columns %}{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
