{#- Values to set: only columns that may be. Whether an item has the subtype is judged with it (`part/judge`). -#}
{%- set names = settable | map(attribute="name") | list + subtypes | map(attribute="name") | list %}
    /* Most calls set nothing, and are not read for it. A name can be written with escapes. */
    IF position('"set"' IN items_::text) > 0 OR position('\u00' IN items_::text) > 0 THEN
        {{ "sets_ := " if can_set else "PERFORM " }}{{ object("queue_sets_fn") }}(
            '{{ procedure }}', items_, ARRAY[{% for name in names %}{{ text(name) }}{{ ", " if not loop.last }}{% endfor %}]::text[]
            {{- ", TRUE" if completion == "delete" }}
    {%- if subtypes %},
            within => json_build_object(
    {%- for subtype in subtypes %}
                {{ text(subtype.name) }}, ARRAY[{% for column in subtype.columns %}{{ text(column.name) }}{{ ", " if not loop.last }}{% endfor %}]::text[]{{ "," if not loop.last }}
    {%- endfor %}
            )
    {%- endif %}
        );
    END IF;
