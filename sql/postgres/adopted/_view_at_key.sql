SELECT w.*
            FROM {{ object(queue ~ "_item_v") }} AS w
            WHERE
{%- for column in key %}
                {{ "AND " if not loop.first }}w.item_key_{{ loop.index }} = {{ of }}{{ loop.index }}
{%- endfor %}
{%- for column in seek %}
                AND w.item_seek_{{ loop.index }} IN ({{ column["values"] | join(", ") }})
{%- endfor %}
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
{%- if false %}{% endif -%}
