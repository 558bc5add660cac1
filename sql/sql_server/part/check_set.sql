{#- Values to set: bytes as base64, and nothing that is deleted with its item. `take` has looked at the rest. #}
    SET @_Sets = CASE WHEN EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL) THEN 1 ELSE 0 END;
{%- set undecoded %}
{{- of.no_base64(procedure, settable, "$.set") }}
{%- for u in t.subtypes %}{{ of.no_base64(procedure, u.columns, u.path | replace("$.columns", "$.set"), u.name ~ ".") }}{% endfor %}
{%- endset %}
{%- if undecoded %}
    IF @_Sets = 1
    BEGIN
{{- undecoded }}
    END;
{%- endif %}
{%- if completion == "delete" %}
    IF EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL AND i.[Status] = 'Completed')
        THROW 50021, N'{{ procedure }}: what is completed is deleted, with all that is set.', 1;
{%- endif %}
