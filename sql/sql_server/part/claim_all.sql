{#- Whatever is due, of all kinds. -#}
{%- import "part/take_due.sql" as take %}
{%- if t.due_leads and role.due and not own %}
{{- take.due("q." ~ role.due ~ " IS NULL") }}
        SET @_Locked = @@ROWCOUNT;

        SET @_Take = @Max - @_Locked;
        IF @_Take > 0
        BEGIN
{{- take.due(kind.past(role)) | indent(4, true) }}
            SET @_Locked = @_Locked + @@ROWCOUNT;
        END;
{%- else %}
{{- take.due("q." ~ role.due ~ " <= @_At" if own else "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= @_At)" if role.due else "") }}
        SET @_Locked = @@ROWCOUNT;
{%- endif %}
