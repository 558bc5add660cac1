{%- import "macro/item.sql" as m -%}
{%- set add = ["add_" ~ queue ~ "_utx", "add_" ~ queue ~ "_trx", "add_" ~ queue ~ "_set_utx", "add_" ~ queue ~ "_set_trx"] -%}
{%- set work = [
    "next_" ~ queue ~ "_utx", "next_" ~ queue ~ "_trx", "next_" ~ queue ~ "_set_trx", "next_" ~ queue ~ "_apart_trx",
    "modify_" ~ queue ~ "_utx", "modify_" ~ queue ~ "_trx",
    "modify_" ~ queue ~ "_set_utx", "modify_" ~ queue ~ "_set_trx",
    "renew_" ~ queue ~ "_set_trx", "recover_" ~ queue ~ "_trx"
] + (["retain_" ~ queue ~ "_trx"] if retention or attempt_retention else []) + (["taken_" ~ queue ~ "_trx"] if claimed_by_others else [])
    + (["claimed_" ~ queue] if marks_claims else []) + (["queue_due", "queue_sleep"] if not claimed_by_others else [])
    + (["progress_" ~ queue ~ "_set_trx"] if progress else []) -%}
{%- set fire = ["schedules_" ~ queue, "fire_" ~ queue ~ "_trx"] if schedules is not none else [] -%}
{%- set report = ["queue_action_note", "queue_workers_seen", "queue_lifeline_take", "queue_minute_keep"] -%}
{%- set done = ["queue_is_done"] -%}
{%- set look = ["stats_" ~ queue, "watch_" ~ queue, "find_" ~ queue, "queue_await"] + (["attempts_" ~ queue] if attempt_history else [])
    + (["limits_" ~ queue] if limits else []) + (["waits_" ~ queue] if after else []) + (["progress_" ~ queue] if progress else []) -%}
{%- set operate = ["redrive_" ~ queue ~ "_set_trx", "purge_" ~ queue ~ "_trx"]
    + (["schedule_" ~ queue ~ "_trx"] if schedules is not none else []) + (["limit_" ~ queue ~ "_trx"] if limits else []) -%}
{%- set granted = [
    {"role": roles.producer, "functions": add + done, "sees": "producer"},
    {"role": roles.worker, "functions": work + done + report + fire + ["watch_" ~ queue], "sees": "worker"},
    {"role": roles.monitor, "functions": look + fire[:1] + ["queue_minute_keep"], "sees": false},
    {"role": roles.operator, "functions": add + work + done + report + fire + look + operate + ["queue_action_step", "queue_pause_begin", "queue_pause_end"], "sees": "worker"}
] -%}
{%- for grant in granted if grant.role %}
{% filter statement %}
{%- if loop.first %}
/*
Rights of each role on {{ queue }}. A role needs no right on any table: functions and the views read and write
with the rights of their owner.
*/
{%- endif %}
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = {{ text(grant.role.name) }}) THEN
        CREATE ROLE {{ grant.role.quoted }};
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'permission denied to create the role %; have it created first', {{ text(grant.role.name) }}
    USING ERRCODE = SQLSTATE;
END;
$$;
{% endfilter %}
{% filter statement %}
GRANT USAGE ON SCHEMA {{ schema }} TO {{ grant.role.quoted }};
{% endfilter %}
{% filter made("GRANT", "EXECUTE", on="queue_catalog", to=grant.role.name) %}
GRANT EXECUTE ON FUNCTION {{ object("queue_catalog") }}() TO {{ grant.role.quoted }};
{% endfilter %}
{%- for function in grant.functions %}
{% filter made("GRANT", "EXECUTE", on=function, to=grant.role.name) %}
DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC({{ literal(function) }}) IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION {{ object(function) }} TO {{ grant.role.quoted }};
    END IF;
END;
$$;
{% endfilter %}
{%- endfor %}
{%- if grant.sees %}
{% filter made("GRANT", "SELECT", on=grant.sees ~ "_" ~ queue ~ "_v", to=grant.role.name) %}
GRANT SELECT ON {{ object(grant.sees ~ "_" ~ queue ~ "_v") }} TO {{ grant.role.quoted }};
{% endfilter %}
{%- endif %}
{%- endfor %}
{%- for role in [roles.producer, roles.worker, roles.monitor, roles.operator] if role %}
{%- for table in ["queue_paused_v"] + (["queue_action", "queue_worker", "queue_minute"] if role in [roles.monitor, roles.operator] else []) %}
{% filter made("GRANT", "SELECT", on=table, to=role.name) %}
GRANT SELECT ON {{ object(table) }} TO {{ role.quoted }};
{% endfilter %}
{%- endfor %}
{%- endfor %}
{%- for role in [roles.monitor, roles.operator] if group and role %}
{% filter made("GRANT", "SELECT", on=queue ~ "_blocked_v", to=role.name) %}
GRANT SELECT ON {{ object(queue ~ "_blocked_v") }} TO {{ role.quoted }};
{% endfilter %}
{%- endfor %}
{%- if own_types_only %}
{% filter statement %}
/* Workers see what queue_type_access says. Who installed the queue, and its operators, see all. */
INSERT INTO {{ object("queue_type_access") }} (queue, type, user_name)
VALUES
    ('{{ queue }}', '*', session_user){% if roles.operator %},
    ('{{ queue }}', '*', {{ text(roles.operator.name) }}){% endif %}
ON CONFLICT DO NOTHING;
{% endfilter %}
{%- endif %}
{% filter statement %}
/* Citus plans many of their statements only with the values of the call. */
DO $$
DECLARE
    function_ regprocedure;
BEGIN
    IF {{ m.is_sharded() }} THEN
        FOR function_ IN
            SELECT p.oid
            FROM pg_catalog.pg_proc AS p
            INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
            WHERE n.nspname = {{ text(schema_name) }} AND 'plan_cache_mode=force_generic_plan' = ANY(p.proconfig)
        LOOP
            EXECUTE 'ALTER FUNCTION ' || function_ || ' SET plan_cache_mode = force_custom_plan';
        END LOOP;
    END IF;
END;
$$;
{% endfilter %}
