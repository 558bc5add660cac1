{#- When an item last changed, in UTC, as far as it is known. Others, who end items, know nothing of the row beside the table. -#}
{%- set finished = item.utc(t, "q." ~ role.finished) if role.finished -%}
{%- set known = item.utc(t, "q." ~ role.enqueued) if role.enqueued -%}
{%- if role.token %}{{ item.utc(t, "q." ~ role.token) }}
{%- elif not beside %}{{ item.token(t) }}
{%- elif finished %}CASE
                    WHEN {{ finished }} > s.[UpdatedAt]
                        THEN {{ finished }}
                    ELSE COALESCE(
                        s.[UpdatedAt],
                        {{ finished }}{{ ",\n                        " ~ known if known }}
                    )
                END
{%- elif known %}COALESCE(s.[UpdatedAt], {{ known }})
{%- else %}s.[UpdatedAt]
{%- endif -%}
