{%- if local_time %}
    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);
{%- else %}
    SET @_Now = SYSUTCDATETIME();
{%- endif %}
