{%- import "macro/column.sql" as of -%}
{%- import "macro/shard.sql" as shard -%}
{#- Objects that have to go or change before the queue's script makes its objects anew. -#}
{%- if operates_no_more %}
{% filter statement %}
/* The role saw all types as the queue's operator. */
DELETE FROM {{ object("QueueTypeAccess") }}
WHERE [Queue] = '{{ queue }}' AND [Type] = N'*' AND [UserName] = {{ text(operates_no_more) }};
{% endfilter %}
{%- endif %}
{%- for rows in needs_no_more %}
{% filter statement %}
DELETE FROM {{ object(rows) }} WHERE [Queue] = '{{ queue }}';
{% endfilter %}
{%- endfor %}
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
{%- if beside_no_more %}
{% filter statement %}
/* Reports went with the row beside their item. */
IF OBJECT_ID({{ literal("Progress_Is_" ~ queue) }}, N'F') IS NOT NULL
    ALTER TABLE {{ object(queue ~ "_Progress") }} DROP CONSTRAINT [Progress_Is_{{ queue }}];
{% endfilter %}
{%- endif %}
{%- for index in indexes %}
{% filter statement %}
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS {{ index.name }} ON {{ index.table }};
{% endfilter %}
{%- endfor %}
{%- if shards.was %}
{% filter statement %}
/* Computed from the key: nothing is lost. */
ALTER TABLE {{ shards.table }} DROP COLUMN IF EXISTS [Shard];
{% endfilter %}
{%- endif %}
{%- if shards.is %}
{% filter statement %}
IF COL_LENGTH({{ text(shards.table) }}, N'Shard') IS NULL
    ALTER TABLE {{ shards.table }} ADD {{ shard.column(shards.is) }};
{% endfilter %}
{%- endif %}
{%- for c in columns %}
{%- if c.drops_default %}
{% filter statement %}
ALTER TABLE {{ c.table }} DROP CONSTRAINT IF EXISTS {{ c.default_name }};
{% endfilter %}
{%- endif %}
{%- for k in c.dropped %}
{% filter statement %}
ALTER TABLE {{ c.table }} DROP CONSTRAINT IF EXISTS {{ k.name }};
{% endfilter %}
{%- endfor %}
{%- endfor %}
{%- for c in columns %}
{%- if c.added %}
{% filter statement %}
{%- if c.nullable and c.default and not c.history %}
/* The rows that are there were enqueued without it, and stay so. */
{%- endif %}
IF COL_LENGTH({{ text(c.table) }}, {{ text(c.name) }}) IS NULL
    ALTER TABLE {{ c.table }} ADD {{ of.history(c) if c.history and c.nullable else of.declared(c) }};
{% endfilter %}
{%- if c.history and not c.nullable %}
{% filter statement %}
ALTER TABLE {{ c.table }} DROP CONSTRAINT IF EXISTS {{ c.default_name }};
{% endfilter %}
{%- endif %}
{%- elif c.retyped %}
{#- A column that is not declared NOT NULL may be NULL, whatever it was before; but a type of somebody else's has a word of its own there. #}
{% filter statement %}
ALTER TABLE {{ c.table }} ALTER COLUMN {{ c.quoted }} {{ c.stored }}{% if not c.nullable %} NOT NULL{% elif c.stored != c.type %} NULL{% endif %};
{% endfilter %}
{%- endif %}
{%- endfor %}
{%- for c in columns if c.adds_default %}
{% filter statement %}
ALTER TABLE {{ c.table }} ADD CONSTRAINT {{ c.default_name }} DEFAULT ({{ c.default }}) FOR {{ c.quoted }};
{% endfilter %}
{%- endfor %}
{%- for c in columns %}{% for k in c.added_constraints %}
{% filter statement %}
/* Refused where a row that is there breaks it. */
ALTER TABLE {{ c.table }} WITH CHECK ADD CONSTRAINT {{ k.name }}
{{ k.definition }};
{% endfilter %}
{%- endfor %}{% endfor %}
