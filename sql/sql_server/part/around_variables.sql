    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
{% include "part/aside_table.sql" %}
