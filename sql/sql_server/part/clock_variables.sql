    DECLARE @_Now datetime2(7); /* UTC */
{%- if local_time %}
    DECLARE @_At datetime2(7); /* the same moment on the table's clock */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
{%- endif %}
