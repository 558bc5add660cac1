{#- Checks of a call, before anything is done: `asked` names it, `least` is the fewest items that may be. -#}
{%- macro checks(procedure, asked, least=1) %}
{%- if "worker" in asked %}
    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION '{{ procedure }}: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- if "most" in asked %}
    IF max_ IS NULL OR max_ < {{ least }} OR max_ > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: max_ must be from {{ least }} to 1000' USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- if "lease" in asked %}
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION '{{ procedure }}: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- if "started" in asked %}
    IF isfinite(started_at_) IS FALSE THEN
        RAISE EXCEPTION '{{ procedure }}: started_at_ must be finite' USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- if "items" in asked %}
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- endmacro -%}
