
    INSERT INTO {{ object(queue ~ "_" ~ subtype.stem) }} ([EnqueuedAt]{% for column in subtype.columns %}, {{ column.quoted }}{% endfor %})
    SELECT n.[EnqueuedAt]{% for column in subtype.columns %}, c.{{ column.quoted }}{% endfor %}
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{%- for column in subtype.columns %}
        {{ column.quoted }} {{ column.json_type }} '{{ column.path }}'{{ " AS JSON" if column.is_json }}{{ "," if not loop.last }}
{%- endfor %}
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    WHERE
{%- if subtype.exclusive %}
        /* Every item of the type has a row; that no other has one is checked by the table. */
        (n.[Type] = {{ text(subtype.name) }} OR JSON_QUERY(j.[value], '{{ subtype.path }}') IS NOT NULL)
{%- else %}
        JSON_QUERY(j.[value], '{{ subtype.path }}') IS NOT NULL
{%- endif %}
{%- if dedup %}
        AND NOT EXISTS (SELECT 1 FROM @Seen AS s WHERE s.[Ordinal] = n.[Ordinal])
{%- endif %}
    OPTION (LOOP JOIN, FORCE ORDER);
