    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
{%- if local_time %}
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
{%- endif %}
