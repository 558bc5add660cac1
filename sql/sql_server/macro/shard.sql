{#-
In which of its shards an item of an own table is. Items are numbered as they come, and their keys have the number in the
microseconds: so they are dealt out in turn. SQL Server takes its functions for deterministic, and exact, as an index asks
of a column that it computes; in the rows it is not kept.
-#}
{%- macro column(shards) -%}
[Shard] AS CAST(DATEDIFF_BIG(MICROSECOND, DATEFROMPARTS(1, 1, 1), [EnqueuedAt]) % 10000 % {{ shards }} AS int)
{%- endmacro -%}
{#- All shards, a row each. -#}
{%- macro all(shards) -%}
(VALUES {% for shard in range(shards) %}({{ shard }}){{ ", " if not loop.last }}{% endfor %}) AS h ([Shard])
{%- endmacro -%}
