    DECLARE @_Statuses nvarchar(max), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7);
    DECLARE @_Longer bigint, @_Error nvarchar(4000){{ ", @_Columns nvarchar(max), @_Members nvarchar(max)" if searchable }};
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
{{- item.declared(t, "NULL") | trim(",") }}
    );

    EXECUTE {{ object("QueueFilterTake") }}
        N'{{ procedure }}', @Filter, @_Statuses OUTPUT, @_Types OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT
{%- if searchable %},
        N'{ {%- for c in searchable %}"{{ c.name }}": {{ 3 if c.is_json else 2 if c.may_hold_json else 1 }}{{ ("," ~ ("\n            " if loop.index % 7 == 0 else " ")) if not loop.last }}{% endfor -%} }', @_Columns OUTPUT, @_Members OUTPUT{% endif %};
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
