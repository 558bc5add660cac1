{#-
Locks what is due: of all, of the shard at hand, or of the kind at hand by the index of `search`. `when_due` says what the due time must be.

A claim that finds an item by one index must not keep its entry there while another claim, which found it by another index, has the item:
that claim needs the entry to take it. So where there are several ways, an entry (n) is read and let go; the row (q) is kept. It is
taken by its key, as settlements do, and must still match the search. So it is in a queue with groups too: a claim may wait there for
a transaction that changes an earlier item of the group, and that transaction may want the entry of an item that was passed over.
And where rows show no state: all that is in flight is passed over, and keeps no lock; what is taken is looked at once more.
-#}
{%- import "macro/item.sql" as item -%}
{%- import "macro/kind.sql" as kind -%}
{%- import "macro/limit.sql" as limit -%}
{%- set many_ways = group or presence or kind_searches | length + (1 if searches_all else 0) > 1 -%}
{%- macro wanted(when_due, search, without_step, q="q", of_key="") -%}
{{ of_key ~ "\n            AND " if of_key }}{{ kind.is(search, role, "@_KindType", "@_KindStep", without_step, q) ~ "\n            AND " if search }}{{ q ~ ".[Shard] = @_Shard\n            AND " if shards }}{{ item.waits(t, q) }}
{%- if when_due %}
            AND {{ kind.due(t, when_due, q) }}
{%- endif %}
{%- endmacro -%}
{#- The key, and what the order goes by. -#}
{%- macro columns_of_entry(by) %}
{%- set known = namespace(list=t.key | map(attribute="quoted") | list) %}
{%- for c in by if c.quoted not in known.list %}{% set known.list = known.list + [c.quoted] %}{% endfor %}
{%- for c in known.list %}n.{{ c }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro due(when_due, search=none, without_step=false, of_key="") %}
{%- set index = search.index if search else "[IX_" ~ queue ~ "_Limited]" if of_key else t.due_index %}
        INSERT INTO @_Due ({{ item.names(t) }}, [AttemptNum], [Alone], [Token]{{ ", [Row]" if t.witness }})
        SELECT TOP (@_Take)
            {{ item.of_item(t) }},
            {{ item.attempts(t) if role.attempts else "0" }},
            {{ "0" if beside else item.died(t) }},
            {{ item.token(t) if role.token else "NULL" }}{% if t.witness %},
            DATALENGTH(q.{{ t.witness }}){% endif %}
{%- if many_ways %}
{%- if presence %}
        FROM (
            SELECT {{ columns_of_entry(due_columns if search else order) }}
            FROM {{ table }} AS n
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ index }}))
            WHERE
                {{ wanted(when_due, search, without_step, "n") | indent(4) }}
{{- item.and_free(t, "n") | indent(4) }}
        ) AS n
{%- else %}
        FROM {{ table }} AS n
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ index }}))
{%- endif %}
        INNER JOIN {{ table }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {% for k in t.key %}q.{{ k.quoted }} = n.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
        WHERE
            {{ wanted(when_due, search, without_step, "n") ~ "\n            AND " if not presence }}{{ wanted(when_due, search, without_step) }}
{{- item.and_free(t, as_committed=true) }}
{%- else %}
        FROM {{ table }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ index }}))
        WHERE
            {{ wanted(when_due, search, without_step, of_key=of_key) }}
{%- for l in filters if of_key %}
            AND NOT EXISTS (
                SELECT 1 FROM @_Keys AS o WHERE o.[Nth] = {{ l.nth }} AND o.[Key] = {{ limit.text(l, "q." ~ l.quoted) }} AND o.[Room] < 1
            )
{%- endfor %}
{%- endif %}
            AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE {{ item.part_of(t, "a", "q") }})
{%- if role.kind and not (search and search.type) %}
            AND NOT EXISTS (SELECT 1 FROM @_PausedType AS z WHERE z.[Type] = {{ item.plain(t, "q." ~ role.kind) }})
{%- endif %}
{%- if search or of_key %}
            /* Locks of one's own are no reason to read past. */
            AND NOT EXISTS (SELECT 1 FROM @_Due AS d WHERE {{ item.part_of(t, "d", "q") }})
{%- endif %}
{%- if own_types_only and not (search and search.type) %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- set by = due_columns if search or of_key else order %}
{%- if by %}
        ORDER BY {{ kind.ordered(by, "n." if many_ways else "q.") }}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
{%- endmacro -%}
