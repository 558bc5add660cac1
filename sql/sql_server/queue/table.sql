{% import "macro/item.sql" as item -%}
{%- import "macro/index.sql" as index_of -%}
{%- import "macro/column.sql" as of -%}
{%- import "macro/shard.sql" as shard -%}
{% filter statement %}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
{% endfilter %}
{%- if own %}
{% include "part/own_table.sql" %}
{%- else %}
{% include "part/table_of_others.sql" %}
{%- endif %}
{%- if t.subtypes and (own or create) %}
{% include "part/subtypes.sql" %}
{%- endif %}
{%- if beside %}
{% include "part/lease_table.sql" %}
{%- endif %}
{%- if attempt_history %}
{% include "part/attempt_table.sql" %}
{%- endif %}
{%- if group or limits %}
{% filter statement %}
/* The row that its claims lock in turn. */
IF NOT EXISTS (SELECT 1 FROM {{ object("QueueTurn") }} AS t WHERE t.[Queue] = '{{ queue }}')
    INSERT INTO {{ object("QueueTurn") }} ([Queue]) VALUES ('{{ queue }}');
{% endfilter %}
{%- endif %}
{%- if shards %}
{% filter made("SEQUENCE", queue ~ "_ShardTurn") %}
/* At which shard the next claim begins. */
IF OBJECT_ID({{ literal(queue ~ "_ShardTurn") }}, N'SO') IS NULL
    CREATE SEQUENCE {{ object(queue ~ "_ShardTurn") }} AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
{% endfilter %}
{%- endif %}
{% filter statement %}
/* When the items of its dead workers were last looked for. */
IF NOT EXISTS (SELECT 1 FROM {{ object("QueueRecovery") }} AS r WITH (READUNCOMMITTED) WHERE r.[Queue] = '{{ queue }}')
    INSERT INTO {{ object("QueueRecovery") }} ([Queue], [RecoveredAt]) VALUES ('{{ queue }}', '0001-01-01');
{% endfilter %}
