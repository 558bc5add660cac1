    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = '{{ setting }}.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = '{{ setting }}.leaseMs' THEN a.[ValInt] END){% if role.error and not own %},
        @_ErrorChars = MAX(CASE WHEN a.[Param] = '{{ setting }}.errorChars' THEN a.[ValInt] END){% endif %}
    FROM {{ object("AppSettings") }} AS a
    WHERE a.[Param] IN ('{{ setting }}.maxAttempts', '{{ setting }}.leaseMs'{{ ", '" ~ setting ~ ".errorChars'" if role.error and not own }});
    SET @_MaxAttempts = COALESCE(@_MaxAttempts, {{ max_attempts }});
    SET @_SilentMs = COALESCE(@_SilentMs, {{ lease_ms }});
{%- if role.error and not own %}
    SET @_ErrorChars = COALESCE(@_ErrorChars, 2147483647);
{%- endif %}
