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
{%- endmacro -%}
{#- Members that the elements of items_ may have, each with its type. -#}
{%- macro takes(procedure, members) %}
    items_ := {{ object("queue_taken_fn") }}('{{ procedure }}', items_, {{ members.all }});
{%- endmacro -%}
{#-
The same of new items, whose columns are many. The library has checked its own, and says so in its sessions; but it may know
columns that are gone since.
-#}
{%- macro takes_unchecked(procedure, members) %}
    IF
        current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on'
        OR EXISTS (
            SELECT 1
            FROM json_array_elements(items_) AS e (value)
            CROSS JOIN LATERAL json_object_keys(
                CASE json_typeof(e.value -> 'columns') WHEN 'object' THEN e.value -> 'columns' END
            ) AS k (name)
            WHERE k.name <> ALL (ARRAY[{{ members.columns }}]::text[])
        )
    THEN
    {{- takes(procedure, members) | indent(4) }}
    END IF;
{%- endmacro -%}
{#- The same of items that are there: the library's are gone into only when a name is not known. -#}
{%- macro takes_names(procedure, members) %}
    IF current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on' OR EXISTS (
        SELECT 1
        FROM json_array_elements(items_) AS e (value)
        CROSS JOIN LATERAL json_object_keys(e.value) AS k (name)
        WHERE k.name NOT IN ({{ members.names }})
    ) OR json_array_length(items_) > 1000 THEN
    {{- takes(procedure, members) | indent(4) }}
    END IF;
{%- endmacro -%}
