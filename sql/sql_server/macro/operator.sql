{#- The login must be one that may redrive items of the queue. -#}
{%- macro check(called) %}
    SET @_Redrive = CONCAT({{ text(schema ~ ".") }}, QUOTENAME(CONCAT(N'Redrive_', @Queue, N'_Set_trx')));
    IF COALESCE(HAS_PERMS_BY_NAME(@_Redrive, N'OBJECT', N'EXECUTE'), 0) = 0
        THROW 50015, N'{{ called }}: permission denied: this login may not redrive items of the queue.', 1;
{%- endmacro -%}
