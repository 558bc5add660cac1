{% if described -%}
SELECT b.[HeadKey] AS [Key], b.[HeadStatus] AS [Status]
FROM {{ object(queue ~ "_Blocked_V") }} AS b
WHERE CAST(b.[ItemGroup] AS nvarchar(4000)) = ?
{%- else -%}
SELECT b.[EnqueuedAt] AS [Key], b.[Status]
FROM {{ object(queue ~ "_Blocked_V") }} AS b
WHERE CAST(b.{{ group }} AS nvarchar(4000)) = ?
{%- endif %}
