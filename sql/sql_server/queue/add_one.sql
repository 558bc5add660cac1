{%- set plain = own and not dedup and not t.subtypes and not t.coded -%}
{%- set at = "@ScheduledFor" -%}
{%- for transaction in ["utx", "trx"] %}
{%- set procedure = "Add_" ~ queue ~ "_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
Enqueue one item {{ "inside the caller's transaction" if transaction == "utx" else "in a commit of its own" }}.
{%- if plain %}
Returns its key and its concurrency token.
{%- else %}
Returns the answer of Add_{{ queue }}_Set_{{ transaction }}, with its key and its concurrency token.
{%- endif %}
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Type nvarchar(60) = {{ text(types[0]) }},
{%- for c in t.parameters %}
    {{ c.parameter }} {{ c.type }}{% if c.default %} = {{ c.default }}{% elif c.nullable %} = NULL{% endif %},
{%- endfor %}
{%- for u in t.subtypes %}
    {{ u.parameter }} nvarchar(max) = NULL, /* a JSON object of its columns */
{%- endfor %}
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
{%- if plain %}
    DECLARE @_Number bigint;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_EnqueuedAt datetime2(7){{ ", @_Tick datetime2(7), @_Last datetime2(7)" if group }};
{%- if transaction == "trx" %}
    DECLARE @_Tries int = 0;
{%- endif %}
{%- else %}
    DECLARE @_Items nvarchar(max);
{%- endif %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}{% endif %}
{% if plain %}
{%- if steps %}
    SET @Step = COALESCE(@Step, {{ text(steps[0]) }});
    IF @Step NOT IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %})
        THROW 50021, N'{{ procedure }}: @Step is none of the queue''s steps.', 1;

{%- endif %}
{%- if transaction == "trx" %}
    WHILE @_EnqueuedAt IS NULL
    BEGIN
        BEGIN TRY
{%- endif %}
{% filter indent(8 if transaction == "trx" else 0, true) %}{% include "part/add_plain.sql" %}{% endfilter %}
{%- if transaction == "trx" %}
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): the sequence has moved on, so the next key differs. */
            SET @_EnqueuedAt = NULL;
            SET @_Tries = @_Tries + 1;
            IF ERROR_NUMBER() <> 2627 OR @_Tries = 5 THROW;
        END CATCH;
    END;
{%- endif %}

    SELECT @_EnqueuedAt AS [EnqueuedAt], @_Now AS [UpdatedAt];
{%- else %}
{%- if t.parameters | selectattr("type", "equalto", "float") | list %}
    /* JSON has 16 digits of a float; style 3 has all 17. */
{%- endif %}
    SET @_Items = (
        SELECT @Type AS [type], @Step AS [step], @ScheduledFor AS [due]
        FOR JSON PATH
    );
    /* Name by name, since a name may hold what separates names in a path. */
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns', JSON_QUERY(N'{}'));
{%- for c in t.parameters %}
{%- set place = c.place | replace("'", "''") %}
{#- NULL takes a member away, unless it has to be there: then it is null, and not left out. #}
    SET @_Items = JSON_MODIFY({% if c.default %}JSON_MODIFY(@_Items, '{{ place }}', N''), 'strict {{ place }}'{% else %}@_Items, '{{ place }}'{% endif %}, {% if c.is_json %}JSON_QUERY({{ c.parameter }}){% elif c.is_binary %}(SELECT b.[Bytes] FROM OPENJSON((SELECT {{ c.parameter }} AS [Bytes] FOR JSON PATH)) WITH ([Bytes] nvarchar(max) '$.Bytes') AS b){% elif c.type == "float" %}CONVERT(nvarchar(30), {{ c.parameter }}, 3){% elif c.type is startingwith("nvarchar") %}{{ c.parameter }}{% elif c.type is startingwith("datetime") %}CONVERT(nvarchar(30), {{ c.parameter }}, 126){% else %}CAST({{ c.parameter }} AS nvarchar(50)){% endif %});
{%- endfor %}
{%- for u in t.subtypes %}
    SET @_Items = JSON_MODIFY(@_Items, '$[0].columns."{{ u.name }}"', JSON_QUERY({{ u.parameter }}));
{%- endfor %}
    EXECUTE {{ object("Add_" ~ queue ~ "_Set_" ~ transaction) }} {{ "@Operation = NULL, " if transaction == "trx" }}@Items = @_Items;
{%- endif %}
END;
{% endfilter %}
{%- endfor %}
