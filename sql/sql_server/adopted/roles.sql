{%- set producer = ["Add_" ~ queue ~ "_Set_trx", "Add_" ~ queue ~ "_Set_utx"] -%}
{%- set worker = ["Next_" ~ queue ~ "_Set_trx", "Modify_" ~ queue ~ "_Set_trx", "Renew_" ~ queue ~ "_Set_trx", "Recover_" ~ queue ~ "_trx"] -%}
{%- set operator = producer + worker + ["Find_" ~ queue, "Redrive_" ~ queue ~ "_Set_trx", "Purge_" ~ queue ~ "_trx", "Stats_" ~ queue] -%}
/* Who may do what: each role executes what it needs, and has no right on any table. */
{%- for role, procedures in [[roles.producer, producer], [roles.worker, worker], [roles.operator, operator]] %}
{%- if role %}
IF DATABASE_PRINCIPAL_ID({{ role_names[loop.index0] }}) IS NULL
    CREATE ROLE {{ role }};
GO
{%- for name in procedures %}
GRANT EXECUTE ON {{ object(name) }} TO {{ role }};
GO
{%- endfor %}
GRANT EXECUTE ON {{ object("QueueCatalog") }} TO {{ role }};
GO
{%- if loop.index0 > 0 %}
GRANT SELECT ON {{ object("Worker_" ~ queue ~ "_V") }} TO {{ role }};
GO
{%- endif %}
{%- endif %}
{%- endfor %}
