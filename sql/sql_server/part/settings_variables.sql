    DECLARE @_MaxAttempts int;
{#- `uses`: text that says which of the others the procedure uses; without it, all. -#}
{%- if uses is undefined or "@_SilentMs" in uses %}
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
{%- endif %}
{%- if role.error and not own %}
    DECLARE @_ErrorChars int; /* as much of an error as its column takes */
{%- endif %}
