{#-
The settings of a call, and its checks; with `ends`, whether somebody waits for the end of an item: what the settings are is asked in the call that checks, or of a table of somebody else's.
-#}
{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- macro read(name, otherwise) %}
{%- if settings_of.theirs %}{{ m.setting_or(name, otherwise) }}{% else %}{{ object("queue_terms") }}('{{ queue }}', param_ => {{ text(setting ~ "." ~ name) }}, otherwise => {{ otherwise }}){% endif %}
{%- endmacro -%}
{%- macro settings(procedure, asked, attempts=true, least=1, lease=false, ends=false) %}
{%- if attempts and asked[:3] == ["worker", "most", "lease"] %}
    IF
        (worker_ <> '' AND max_ BETWEEN {{ least }} AND 1000 AND COALESCE(lease_ms_ > 0, TRUE){{ " AND COALESCE(isfinite(started_at_), TRUE)" if "started" in asked }}) IS NOT TRUE
    THEN {{ check.checks(procedure, asked, least) | trim }}
    END IF;
    /* {{ "All" if ends else "Both" }} by one statement, since each costs a claim of one item some per cent. */
    SELECT
        COALESCE(lease_ms_, {{ m.setting_read("leaseMs") }}, {{ lease_ms }}),
        COALESCE({{ m.setting_read("maxAttempts") }}, {{ max_attempts }}){% if ends %},
        EXISTS (SELECT 1 FROM {{ object("queue_awaited") }} AS z WHERE z.queue = '{{ queue }}'){% endif %}
    INTO lease_ms_, max_attempts_{{ ", is_awaited_" if ends }};
{%- else %}
{%- if attempts and settings_of.theirs %}
    max_attempts_ := {{ read("maxAttempts", max_attempts) }};
{%- endif %}
{%- if lease or "lease" in asked %}
    lease_ms_ := COALESCE(lease_ms_, {{ read("leaseMs", lease_ms) }});
{%- endif %}
{%- if asked == ["lease"] %}
    IF lease_ms_ < 1 THEN {{ check.checks(procedure, asked) | trim }}
    END IF;
{%- else %}
{{- check.checks(procedure, asked, least, [text(setting ~ ".maxAttempts"), max_attempts] if attempts and not settings_of.theirs else none) }}
{%- endif %}
{%- endif %}
{%- endmacro -%}
