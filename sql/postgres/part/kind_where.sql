{#- Due items of the kind `w`, or of that shard, in its order. #}
                    {{ m.is_kind(search, "w") if search else m.shard() ~ " = w.shard" if shards else m.limit_key(sought) ~ " = w.key" }}
                    AND {{ m.waiting() }}
{%- if due_is %}
                    AND {{ due_is }}
{%- endif %}
{%- for l in filters %}
                    AND NOT {{ m.limit_key(l) }} = ANY(room_.blocked_{{ l.nth }})
{%- endfor %}
{%- if own_types_only and not search.type %}
                    AND {{ m.type_seen("q." ~ role.kind ~ "::text") }}
{%- endif %}
{%- if apart %}
                    AND {{ m.not_refused(m.key_kept_of_row()) }}
{%- if role.kind and not (search and search.type) %}
                    AND {{ m.not_paused() }}
{%- endif %}
{%- endif %}
{%- if group %}
{% filter indent(8, true) %}{% include "part/group_free.sql" %}{% endfilter %}
{%- endif %}
                ORDER BY {{ m.by_due() }}
