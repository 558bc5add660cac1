{#- What has to go or change before the queue's script makes its objects anew. -#}
{%- for grant in grants %}
{% filter statement %}
IF OBJECT_ID({{ text(grant.on) }}) IS NOT NULL AND DATABASE_PRINCIPAL_ID({{ text(grant.role_name) }}) IS NOT NULL
    REVOKE {{ grant.right }} ON {{ grant.on }} FROM {{ grant.role }};
{% endfilter %}
{%- endfor %}
{%- for object in objects %}
{% filter statement %}
DROP {{ object.kind }} IF EXISTS {{ object.name }};
{% endfilter %}
{%- endfor %}
{%- for index in indexes %}
{% filter statement %}
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS {{ index.name }} ON {{ index.table }};
{% endfilter %}
{%- endfor %}
{%- for column in columns %}
{%- if column.change == "added" %}
{% filter statement %}
IF COL_LENGTH({{ text(column.table) }}, {{ text(column.name) }}) IS NULL
    ALTER TABLE {{ column.table }} ADD {{ column.quoted }} {{ column.type }} NULL;
{% endfilter %}
{%- else %}
{#- What is not said to be NOT NULL may be NULL, whatever it was before. #}
{% filter statement %}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} {{ column.type }}{{ " NOT NULL" if not column.nullable }};
{% endfilter %}
{%- endif %}
{%- endfor %}
