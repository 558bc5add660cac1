{#- Whatever is due, of all kinds. -#}
{%- import "part/take_due.sql" as take %}
{%- for when_due in kind.whens(t, role) | split(" ") %}
{%- if loop.first %}
{{- take.due(when_due) }}
        SET @_Locked = @@ROWCOUNT;
{%- else %}

        SET @_Take = @Max - @_Locked;
        IF @_Take > 0
        BEGIN
{{- take.due(when_due) | indent(4, true) }}
            SET @_Locked = @_Locked + @@ROWCOUNT;
        END;
{%- endif %}
{%- endfor %}
