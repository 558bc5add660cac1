    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
{%- if role.error and not own %}
    DECLARE @_ErrorChars int; /* as much of an error as its column takes */
{%- endif %}
