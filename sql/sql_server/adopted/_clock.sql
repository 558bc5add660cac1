{%- if local_time %}
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @Stamp = SYSDATETIMEOFFSET();
        SET @Offset = DATEPART(TZOFFSET, @Stamp);
        SET @At = CAST(@Stamp AS datetime2(7));
        SET @Now = DATEADD(MINUTE, -@Offset, @At);
{%- else %}
        SET @Now = SYSUTCDATETIME();
        SET @At = @Now;
{%- endif %}
