{%- set add = ["Add_" ~ queue ~ "_utx", "Add_" ~ queue ~ "_trx", "Add_" ~ queue ~ "_Set_utx", "Add_" ~ queue ~ "_Set_trx"] -%}
{%- set work = [
    "Next_" ~ queue ~ "_utx", "Next_" ~ queue ~ "_trx", "Next_" ~ queue ~ "_Set_utx",
    "Next_" ~ queue ~ "_Set_trx", "Next_" ~ queue ~ "_Apart_trx",
    "Modify_" ~ queue ~ "_utx", "Modify_" ~ queue ~ "_trx",
    "Modify_" ~ queue ~ "_Set_utx", "Modify_" ~ queue ~ "_Set_trx",
    "Renew_" ~ queue ~ "_Set_trx", "Recover_" ~ queue ~ "_trx"
] + (["Retain_" ~ queue ~ "_trx"] if retention or attempt_retention else []) + (["Taken_" ~ queue ~ "_trx"] if claimed_by_others else [])
    + (["Claimed_" ~ queue] if marks_claims else []) + (["QueueDue", "Due_" ~ queue] if not claimed_by_others else [])
    + (["Progress_" ~ queue ~ "_Set_trx"] if progress else []) -%}
{%- set fire = ["Schedules_" ~ queue, "Fire_" ~ queue ~ "_trx"] if schedules is not none else [] -%}
{%- set report = ["QueueActionNote", "QueueWorkersSeen", "QueueLifelineTake", "QueueMinuteKeep"] -%}
{%- set done = ["QueueIsDone"] -%}
{%- set look = ["Stats_" ~ queue, "Watch_" ~ queue, "Find_" ~ queue] + (["Attempts_" ~ queue] if attempt_history else [])
    + (["Limits_" ~ queue] if limits else []) + (["Waits_" ~ queue] if after else []) + (["Progress_" ~ queue] if progress else []) -%}
{%- set operate = ["Redrive_" ~ queue ~ "_Set_trx", "Purge_" ~ queue ~ "_trx"]
    + (["Schedule_" ~ queue ~ "_trx"] if schedules is not none else []) + (["Limit_" ~ queue ~ "_trx"] if limits else []) -%}
{%- set granted = [
    {"role": roles.producer, "procedures": add + done, "sees": "Producer"},
    {"role": roles.worker, "procedures": work + done + report + fire + ["Watch_" ~ queue], "sees": "Worker"},
    {"role": roles.monitor, "procedures": look + fire[:1] + ["QueueMinuteKeep"], "sees": false},
    {"role": roles.operator, "procedures": add + work + done + report + fire + look + operate + ["QueueActionStep", "QueuePauseBegin", "QueuePauseEnd"], "sees": "Worker"}
] -%}
{%- for grant in granted if grant.role %}
{% filter statement %}
{%- if loop.first %}
/*
Rights of each role on {{ queue }}. A role needs no right on any table: procedures and the views read and write
with the rights of their owner, who owns the tables too.
*/
{%- endif %}
IF DATABASE_PRINCIPAL_ID({{ text(grant.role.name) }}) IS NULL
    CREATE ROLE {{ grant.role.quoted }};
{% endfilter %}
{% filter made("GRANT", "EXECUTE", on="QueueCatalog", to=grant.role.name) %}
GRANT EXECUTE ON {{ object("QueueCatalog") }} TO {{ grant.role.quoted }};
{% endfilter %}
{%- for procedure in grant.procedures %}
{% filter made("GRANT", "EXECUTE", on=procedure, to=grant.role.name) %}
IF OBJECT_ID({{ literal(procedure) }}, N'P') IS NOT NULL
    GRANT EXECUTE ON {{ object(procedure) }} TO {{ grant.role.quoted }};
{% endfilter %}
{%- endfor %}
{%- if grant.sees %}
{% filter made("GRANT", "SELECT", on=grant.sees ~ "_" ~ queue ~ "_V", to=grant.role.name) %}
GRANT SELECT ON {{ object(grant.sees ~ "_" ~ queue ~ "_V") }} TO {{ grant.role.quoted }};
{% endfilter %}
{%- endif %}
{%- endfor %}
{%- for role in [roles.producer, roles.worker, roles.monitor, roles.operator] if role %}
{%- for table in ["QueuePaused_V"] + (["QueueAction", "QueueWorker", "QueueMinute"] if role in [roles.monitor, roles.operator] else []) %}
{% filter made("GRANT", "SELECT", on=table, to=role.name) %}
GRANT SELECT ON {{ object(table) }} TO {{ role.quoted }};
{% endfilter %}
{%- endfor %}
{%- endfor %}
{%- for role in [roles.monitor, roles.operator] if group and role %}
{% filter made("GRANT", "SELECT", on=queue ~ "_Blocked_V", to=role.name) %}
GRANT SELECT ON {{ object(queue ~ "_Blocked_V") }} TO {{ role.quoted }};
{% endfilter %}
{%- endfor %}
{%- if own_types_only %}
{% filter statement %}
/* Workers see what QueueTypeAccess says. The owner of the database, and its operators, see all. */
INSERT INTO {{ object("QueueTypeAccess") }} ([Queue], [Type], [UserName])
SELECT '{{ queue }}', N'*', v.[UserName]
FROM (VALUES (N'dbo'), (N'db_owner'){% if roles.operator %}, ({{ text(roles.operator.name) }}){% endif %}) AS v ([UserName])
WHERE NOT EXISTS (
    SELECT 1 FROM {{ object("QueueTypeAccess") }} AS a
    WHERE a.[Queue] = '{{ queue }}' AND a.[UserName] = v.[UserName] AND a.[Type] = N'*'
);
{% endfilter %}
{%- endif %}
