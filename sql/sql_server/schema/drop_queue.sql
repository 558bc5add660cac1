{#- Statements that take a queue away again: `goes` is what its script made, last first, but for what stays. -#}
{% filter statement %}
/* A call that meets this script gives way, and is tried again. */
SET DEADLOCK_PRIORITY HIGH;
{% endfilter %}
{%- for name in locked %}
{% filter statement %}
{%- if loop.first %}
/* Calls that are under way come to their end first; those that follow find the queue gone. */
{%- endif %}
IF OBJECT_ID({{ text(name) }}, N'U') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM {{ name }} WITH (TABLOCKX, HOLDLOCK)) SET NOCOUNT ON;
END;
{% endfilter %}
{%- endfor %}
{%- for key in keys %}
{% filter statement %}
/* The table stays; what it refers to does not. */
ALTER TABLE {{ key.table }} DROP CONSTRAINT IF EXISTS {{ key.name }};
{% endfilter %}
{%- endfor %}
{%- for object in goes %}
{% filter statement %}
{%- if object.kind == "INDEX" %}
IF OBJECT_ID({{ text(object.table) }}) IS NOT NULL
    DROP INDEX IF EXISTS {{ object.name }} ON {{ object.table }};
{%- else %}
DROP {{ object.kind }} IF EXISTS {{ object.qualified }};
{%- endif %}
{% endfilter %}
{%- endfor %}
{%- for grant in grants if grant.on %}
{% filter statement %}
{%- if loop.first %}
/* No other queue has given these rights. The roles stay: who is in them is not known here. */
{%- endif %}
IF DATABASE_PRINCIPAL_ID({{ text(grant.role_name) }}) IS NOT NULL
    REVOKE {{ grant.right }} ON {{ grant.on }} FROM {{ grant.role }};
{% endfilter %}
{%- endfor %}
{% filter statement %}
/* Nobody goes on with an action on items that are gone, nor on those of a later queue of the name. */
UPDATE {{ object("QueueAction") }}
SET [State] = 'Cancelled', [EndedAt] = SYSUTCDATETIME(), [LeaseUntil] = NULL, [Result] = N'the queue was dropped'
WHERE [Queue] = {{ text(queue) }} AND [EndedAt] IS NULL;
{% endfilter %}
{%- for rows in ["QueueRecovery", "QueueTypeAccess", "QueueRefused", "QueueWorker", "QueueLifeline", "QueueMinute", "QueuePause"] + first_needed %}
{% filter statement %}
DELETE FROM {{ object(rows) }} WHERE [Queue] = {{ text(queue) }};
{% endfilter %}
{%- endfor %}
{%- if setting %}
{% filter statement %}
DELETE FROM {{ object("AppSettings") }}
WHERE
    LEFT([Param], {{ setting | length + 1 }}) = {{ text(setting ~ ".") }}
    AND CHARINDEX('.', [Param], {{ setting | length + 2 }}) = 0;
{% endfilter %}
{%- endif %}
{% filter statement %}
DELETE FROM {{ object("QueueSpec") }} WHERE [Queue] = {{ text(name) }};
{% endfilter %}
{% filter statement %}
/* A queue of this name that is made anew has done none of these calls. */
DELETE FROM {{ object("QueueOperation") }} WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE [Call] IN ('Add_{{ queue }}_Set', 'Modify_{{ queue }}_Set', 'Redrive_{{ queue }}_Set');
{% endfilter %}
