{#- Where claims in flight are found, oldest first: beside the table, or in it. -#}
{%- import "macro/item.sql" as item -%}
{%- macro from(t, queue) -%}
FROM {{ t.lease if t.beside else t.table }} AS {{ "s" if t.beside else "q" }}
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Lease_" if t.beside }}InFlight]))
            WHERE
                {{ "s.[Status] = 'Processing'" if t.beside else item.stands(t.processing) }}
{%- endmacro -%}
{%- macro key(t) %}{{ item.of_kept(t) if t.beside else item.of_item(t) }}{% endmacro -%}
{%- macro is(t, v) %}{{ item.kept_for(t, v) if t.beside else item.found(t, v) }}{% endmacro -%}
{%- macro began(t) %}{% if t.beside %}s.[StartedAt]{% elif t.own %}q.{{ t.role.started }}{% else %}CAST(q.{{ t.role.started }} AS datetime2(7)){% endif %}{% endmacro -%}
{%- macro ordered(t) %}{% if t.beside %}s.[StartedAt]{% else %}q.{{ t.role.started }}{% endif %}{% endmacro -%}
{#- Its lease is over, or its worker dead. Not one whose row in the table somebody holds: they may be many, and the rest is behind them. -#}
{%- macro over(t) %}({{ "s.[LeaseUntil]" if t.beside else item.until(t, "@_SilentMs") }} <= @_Now OR {{ "s.[LeaseOwner]" if t.beside else item.owner(t) }} = @_Dead)
{%- if t.beside %}
                AND {{ is_free(t) }}
{%- endif %}
{%- endmacro -%}
{#- Nobody has its row in the table locked, or there is none. -#}
{%- macro is_free(t) %}(
                    EXISTS (
                        SELECT 1
                        FROM {{ t.table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        WHERE
                            {{ item.among(t) }}{{ item.kept_of(t) }}
                    )
                    OR NOT EXISTS (
                        SELECT 1
                        FROM {{ t.table }} AS q WITH (READUNCOMMITTED)
                        WHERE
                            {{ item.among(t) }}{{ item.kept_of(t) }}
                    )
                )
{%- endmacro -%}
