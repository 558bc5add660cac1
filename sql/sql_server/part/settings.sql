    SELECT
        @_MaxAttempts = s.[MaxAttempts]
{%- if uses is undefined or "@_SilentMs" in uses %},
        @_SilentMs = s.[LeaseMs]
{%- endif %}
{{- ",\n        @_ErrorChars = s.[ErrorChars]" if role.error and not own }}
    FROM {{ object(queue ~ "_Setting_V") }} AS s;
