{#- The arguments of a call by their names. A NULL leaves what is there. -#}
{%- for a in arguments %}
    {{ a.quoted }} => {% if a.kind == "due" -%}
        COALESCE(
            {{ "(CLOCK_TIMESTAMP() AT TIME ZONE r.zone)" if local_time and a.type == "timestamp without time zone" else "CLOCK_TIMESTAMP()" }} + ?::bigint * interval '1 millisecond',
            {{ "(?::timestamptz AT TIME ZONE r.zone)" if local_time and a.type == "timestamp without time zone" else "?::timestamptz" }}
        )::{{ a.type }}
    {%- elif a.kind == "binary" -%}
        DECODE(?::text, 'hex')
    {%- else -%}
        ?::{{ a.type }}
    {%- endif %}{{ "," if not loop.last }}
{%- endfor %}
