    DECLARE @_Statuses nvarchar(4000), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint, @_Error nvarchar(4000);
{%- if searchable %}
    DECLARE @_Columns nvarchar(max), @_Members nvarchar(max);
{%- endif %}
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
{{- item.declared(t, "NULL") | trim(",") }}
    );

    EXECUTE {{ object("QueueFilterTake") }}
        N'{{ procedure }}', @Filter, @_Statuses OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT
{%- if searchable %},
        N'{ {%- for c in searchable %}"{{ c.name }}": {{ 3 if c.is_json else 2 if c.may_hold_json else 1 }}{{ ("," ~ ("\n            " if loop.index % 7 == 0 else " ")) if not loop.last }}{% endfor -%} }'{% endif %};
    SELECT @_Types = JSON_QUERY(@Filter, '$.types')
{%- if searchable %}, @_Columns = JSON_QUERY(@Filter, '$.columns'), @_Members = JSON_QUERY(@Filter, '$.members'){% endif %};
    INSERT INTO @_Given ([Ordinal], {{ item.names(t) }})
    SELECT CAST(r.[key] AS int),
{{- item.reads_text(t, "r.[value]") | trim(",") }}
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE {{ item.missing(t, "g") }})
        THROW 50021, N'{{ procedure }}: one of the keys is not a key of {{ queue }}.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;
{#- @Filter read: what its members are, and its keys. -#}
