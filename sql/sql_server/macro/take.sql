{#- A name that is none of the list. A comparison takes no notice of blanks at the end, and a path does. -#}
{%- macro unknown(list) %}
m.[key] NOT IN ({{ list }})
OR m.[key] LIKE N'% '
{%- endmacro -%}
{#- Before all else that reads @Items: what its elements may have, each with its type. -#}
{%- macro items(procedure, members) %}
    EXECUTE {{ object("QueueTake") }} N'{{ procedure }}', @Items OUTPUT, {{ members.all }};
{%- endmacro -%}
{#-
The same of new items, whose columns are many. The library has checked its own, and says so in its sessions; but it may know
columns that are gone since.
-#}
{%- macro unchecked(procedure, members) %}
    IF
        SESSION_CONTEXT(N'readpast.checks_items') IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.columns') AS m
            WHERE
{%- filter indent(16) %}{{ unknown(members.columns or "N''") }}{% endfilter %}
        )
    {{- items(procedure, members) | indent(4) }}
{%- endmacro -%}
{#-
The same of items that are there, or of the one in the parameters (@Items has what it sets, or is NULL). The library's are gone into
only when a name is not known, or OPENJSON would make NULL of a value: it may know columns that are gone since.
-#}
{%- macro names(procedure, members) %}
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE{% filter indent(16) %}{{ unknown(members.names) }}{% endfilter %}
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
{%- for names in members.sets %}
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'{{ names.path }}') AS m
            WHERE
{%- filter indent(16) %}{{ unknown(names.list) }}{% endfilter %}
        )
{%- endfor %}
    {{- items(procedure, members) | indent(4) }}
{%- endmacro -%}
