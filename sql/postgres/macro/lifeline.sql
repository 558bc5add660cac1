{#- The number of a worker's lock, which the sessions of its process share. -#}
{%- macro lock(worker) -%}
hashtextextended({{ text("readpast " ~ schema_name ~ " ") }} || {{ worker }}, 0)
{%- endmacro -%}
{#- Nobody has held the lock for the worker's grace, since this server began. One that began anew has freed all locks. -#}
{%- macro is_dead(f) -%}
{{ f }}.server_began = pg_postmaster_start_time()
            AND {{ f }}.free_since <= now_ - {{ f }}.grace_ms * interval '1 millisecond'
{%- endmacro -%}
