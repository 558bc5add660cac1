    {% set of_ours = settings_of.theirs and role.error and not own %}SELECT
        @_MaxAttempts = MAX(CASE WHEN a.{{ settings_of.param }} = '{{ setting }}.maxAttempts' THEN a.{{ settings_of.value }} END),
        @_SilentMs = MAX(CASE WHEN a.{{ settings_of.param }} = '{{ setting }}.leaseMs' THEN a.{{ settings_of.value }} END){% if role.error and not own and not of_ours %},
        @_ErrorChars = MAX(CASE WHEN a.[Param] = '{{ setting }}.errorChars' THEN a.[ValInt] END){% endif %}
    FROM {{ settings_of.table }} AS a
    WHERE
        a.{{ settings_of.param }} IN ('{{ setting }}.maxAttempts', '{{ setting }}.leaseMs'{{ ", '" ~ setting ~ ".errorChars'" if role.error and not own and not of_ours }})
        /* With none or fewer, all that waits would be Failed at once: such a value does not count. */
        AND a.{{ settings_of.value }} > 0;
{%- if of_ours %}
    SET @_ErrorChars = (
        SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.errorChars'
    );
{%- endif %}
    SET @_MaxAttempts = COALESCE(@_MaxAttempts, {{ max_attempts }});
    SET @_SilentMs = COALESCE(@_SilentMs, {{ lease_ms }});
{%- if role.error and not own %}
    SET @_ErrorChars = COALESCE(@_ErrorChars, 2147483647);
{%- endif %}
