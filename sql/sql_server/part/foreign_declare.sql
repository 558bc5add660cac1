{#- The arguments of a call, each in a variable of a type that the parameter takes. A NULL leaves what is there. -#}
{%- if arguments | selectattr("kind", "eq", "due") | list %}
DECLARE @DelayMs bigint = CAST(? AS bigint);
DECLARE @Due datetime2(7) = CAST(? AS datetime2(7));
{%- endif %}
{%- for a in arguments %}
{%- if a.kind == "due" and local_time %}
DECLARE @A{{ loop.index }} datetime2(7) = CASE
    WHEN @DelayMs IS NOT NULL
        THEN DATEADD(MILLISECOND, @DelayMs % 1000, DATEADD(SECOND, @DelayMs / 1000, SYSDATETIME()))
    /* The zone of this moment: over a change of the clocks it is an hour off. */
    ELSE DATEADD(MINUTE, DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), @Due)
END;
{%- elif a.kind == "due" %}
DECLARE @A{{ loop.index }} datetime2(7) = CASE
    WHEN @DelayMs IS NOT NULL
        THEN DATEADD(MILLISECOND, @DelayMs % 1000, DATEADD(SECOND, @DelayMs / 1000, SYSUTCDATETIME()))
    ELSE @Due
END;
{%- else %}
{% if a.kind == "time" %}DECLARE @A{{ loop.index }} datetime2(7) = CAST(? AS datetime2(7));
{%- elif a.kind == "zoned" %}DECLARE @A{{ loop.index }} datetimeoffset(7) = CAST(? AS datetimeoffset(7));
{%- elif a.kind == "integer" %}DECLARE @A{{ loop.index }} bigint = CAST(? AS bigint);
{%- elif a.kind == "guid" %}DECLARE @A{{ loop.index }} uniqueidentifier = CAST(? AS uniqueidentifier);
{%- elif a.kind == "binary" %}DECLARE @A{{ loop.index }} varbinary(max) = CONVERT(varbinary(max), ?, 2);
{%- else %}DECLARE @A{{ loop.index }} nvarchar(max) = ?;
{%- endif %}
{%- endif %}
{%- endfor %}
