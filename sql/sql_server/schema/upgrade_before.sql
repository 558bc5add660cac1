{#- What has to go or change before the queue's script makes its objects anew. -#}
{%- for grant in grants %}
IF OBJECT_ID({{ text(grant.on) }}) IS NOT NULL AND DATABASE_PRINCIPAL_ID({{ text(grant.role_name) }}) IS NOT NULL
    REVOKE {{ grant.right }} ON {{ grant.on }} FROM {{ grant.role }};
GO
{%- endfor %}
{%- for object in objects %}
DROP {{ object.kind }} IF EXISTS {{ object.name }};
GO
{%- endfor %}
{%- for index in indexes %}
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS {{ index.name }} ON {{ index.table }};
GO
{%- endfor %}
{%- for column in columns %}
{%- if column.change == "added" %}
IF COL_LENGTH({{ text(column.table) }}, {{ text(column.name) }}) IS NULL
    ALTER TABLE {{ column.table }} ADD {{ column.quoted }} {{ column.type }} NULL;
GO
{%- else %}
{#- What is not said to be NOT NULL may be NULL, whatever it was before. #}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} {{ column.type }}{{ " NOT NULL" if not column.nullable }};
GO
{%- endif %}
{%- endfor %}
