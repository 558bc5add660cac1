    (
        ({% for condition in pending %}
            {{- " AND " if not loop.first }}{{ condition.quoted }}
            {{- " IS NULL" if condition.holds == "null" else " = " ~ condition.literal }}
        {%- endfor %})
        OR ({% for condition in processing %}
            {{- " AND " if not loop.first }}{{ condition.quoted }}
            {{- " IS NOT NULL" if condition.holds == "something" else (" IS NULL" if condition.holds == "null" else " = " ~ condition.literal) }}
        {%- endfor %})
    )
