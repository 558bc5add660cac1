{#- The name of a worker's lock, which the sessions of its process share. -#}
{%- macro lock(worker) -%}
CONCAT(N'readpast ', SCHEMA_ID({{ text(schema_name) }}), N' ', {{ worker }})
{%- endmacro -%}
{#- This session has not got it: to a session its own lock looks free. Whether another has it, APPLOCK_TEST or sp_getapplock says. -#}
{%- macro is_not_own(worker) -%}
APPLOCK_MODE(N'public', {{ lock(worker) }}, N'Session') = N'NoLock'
{%- endmacro -%}
{#- When the server began, as every login may see: it made tempdb then. -#}
{%- macro server_began() -%}
(SELECT d.[create_date] FROM sys.databases AS d WHERE d.[database_id] = 2)
{%- endmacro -%}
{#- Nobody has held the lock for the worker's grace, since this server began. One that began anew has freed all locks. -#}
{%- macro is_dead(f, began, now) -%}
{{ f }}.[ServerBegan] = {{ began }}
        AND {{ f }}.[FreeSince] <= DATEADD(MILLISECOND, -{{ f }}.[GraceMs], {{ now }})
{%- endmacro -%}
