{#- For how long the oldest item that has room has been due, NULL where none has. -#}
{%- import "macro/limit.sql" as limit -%}
{%- import "macro/kind.sql" as kind %}
{%- set times = [item.utc(t, "q." ~ role.due)] if role.due else [] %}
{%- set times = times + ([item.utc(t, "q." ~ role.enqueued)] if role.enqueued else []) %}
{%- set began = "COALESCE(" ~ times | join(", ") ~ ")" if times | length > 1 else times | first if times else "CAST(NULL AS datetime2(7))" %}
    /* Not with the locks of a caller's transaction: a count of what is in work waits for who ends an item. */
    IF @@TRANCOUNT = 0
    BEGIN
        BEGIN TRY
            EXECUTE {{ object(queue ~ "_Room") }}
                @Max = 100, @_Now = @_Now,{{ " @_At = @_At," if local_time }} @Looks = 1, @Room = @_Room OUTPUT, @FreeAt = @_FreeAt OUTPUT
                {{- ", @Keys = @_Keys OUTPUT" if sought }};
            SELECT @_Startable = MAX(COALESCE(DATEDIFF_BIG(MILLISECOND, h.[Began], @_Now), 0))
            FROM {% if sought %}OPENJSON(@_Keys) WITH ([Nth] int '$.Nth', [Key] nvarchar(300) '$.Key') AS k{% else %}(SELECT 1 AS [One] WHERE @_Room > 0) AS k{% endif %}
            CROSS APPLY (
{%- if filters %}
                SELECT TOP (1) q.[Began]
                FROM (
                    SELECT TOP (1000)
                        {{ began }} AS [Began],
{%- for l in filters %}
                        {{ limit.text(l, "q." ~ l.quoted) }} AS [Key{{ l.nth }}],
{%- endfor %}
                        ROW_NUMBER() OVER (ORDER BY {{ kind.ordered(due_columns) }}) AS [Place]
{%- else %}
                SELECT TOP (1) {{ began }} AS [Began]
{%- endif %}
                FROM {{ table }} AS q WITH ({{ hints }}, INDEX ({{ "[IX_" ~ queue ~ "_Limited]" if sought else t.due_index }}))
                WHERE
                    {{ item.waits(t) }}
{%- if sought %}
                    AND EXISTS (SELECT q.{{ sought.quoted }} INTERSECT SELECT {{ limit.read(sought, "k.[Key]") }})
{%- endif %}
{%- if kind.whens(t, role) %}
                    AND ({% for when_due in kind.whens(t, role) | split(" ") %}{{ kind.due(t, when_due) }}{{ " OR " if not loop.last }}{% endfor %})
{%- endif %}
                ORDER BY {{ kind.ordered(due_columns) }}
{%- if filters %}
                ) AS q
                WHERE NOT EXISTS (
                    SELECT 1
                    FROM OPENJSON(@_Keys) WITH ([Nth] int '$.Nth', [Key] nvarchar(300) '$.Key', [Room] int '$.Room') AS b
                    WHERE
                        b.[Room] < 1
                        AND (
{%- for l in filters %}
                            {{ "OR " if not loop.first }}(b.[Nth] = {{ l.nth }} AND b.[Key] = q.[Key{{ l.nth }}])
{%- endfor %}
                        )
                )
                ORDER BY q.[Place]
{%- endif %}
            ) AS h{{ "\n            WHERE k.[Nth] = " ~ sought.nth if sought }};
            SET @_HasLooked = 1;
        END TRY
        BEGIN CATCH
            /* A count that waits too long, or loses a deadlock, leaves the rest of the look. */
            IF @@TRANCOUNT > 0 OR ERROR_NUMBER() NOT IN (1205, 1222) THROW;
        END CATCH;
    END;
