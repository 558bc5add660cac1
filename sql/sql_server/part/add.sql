        INSERT INTO @_New (
            [Ordinal], [Type], [Step], [DueAt]{{ ", [Waits]" if after }}
{%- for c in t.given %}{{ ",\n            " if loop.index0 % 8 == 0 else ", " }}{{ c.var }}{% endfor %}
{%- for u in t.subtypes %}, [{{ u.alias }}]{% for c in u.columns %}, {{ c.var }}{% endfor %}{% endfor %}
{%- for k in t.key if k.given %}, {{ k.var }}{% endfor %}
        )
        SELECT
            CAST(j.[key] AS int), r.[Type],
            {{ "COALESCE(r.[Step], " ~ text(steps[0]) ~ ")" if steps else "r.[Step]" }},
            COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @_Now)))
{%- if after %},
            CASE WHEN EXISTS (SELECT 1 FROM OPENJSON(r.[After])) THEN 1 ELSE 0 END
{%- endif %}
{%- for c in t.given %},
            {{ of.given(c, "h") }}
{%- endfor %}
{%- for u in t.subtypes %},
            r.[{{ u.alias }}]
{%- for c in u.columns %},
            {{ of.given(c, "h_" ~ u.alias) }}
{%- endfor %}{% endfor %}
{%- for k in t.key if k.given %},
            {% if k.is_guid %}COALESCE(r.{{ k.var }}, NEWID()){% elif k.type is startingwith("varchar") %}{{ item.read(k, "r." ~ k.var) }}{% else %}r.{{ k.var }}{% endif %}
{%- endfor %}
        FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [Type] nvarchar(max) '$.type', [Step] nvarchar(max) '$.step', [DueAt] datetime2(7) '$.due',
            [DelayMs] bigint '$.delay_ms'{{ ", [After] nvarchar(max) '$.after' AS JSON" if after }}
{%- for c in t.given %},
            {{ c.var }} {{ c.json_type }} '{{ c.path | replace("'", "''") }}'{{ " AS JSON" if c.is_json }}
{%- endfor %}
{%- for u in t.subtypes %},
            [{{ u.alias }}] nvarchar(max) '{{ u.path }}' AS JSON
{%- for c in u.columns %},
            {{ c.var }} {{ c.json_type }} '{{ c.path }}'{{ " AS JSON" if c.is_json }}
{%- endfor %}{% endfor %}
{%- for k in t.key if k.given %},
            {{ k.var }} {{ "nvarchar(max)" if k.type is startingwith("nvarchar") or k.type is startingwith("varchar") else "varbinary(max)" if k.type is startingwith("varbinary") else k.type }} '{{ k.path | replace("'", "''") }}'
{%- endfor %}
        ) AS r
{{- of.has(t.given, "$.columns", "h") }}
{%- for u in t.subtypes %}{{ of.has(u.columns, u.path, "h_" ~ u.alias) }}{% endfor %}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
        SET @_Count = @@ROWCOUNT;
{{- of.no_base64(procedure, t.given, "$.columns") }}
{%- for u in t.subtypes %}{{ of.no_base64(procedure, u.columns, u.path, u.name ~ ".") }}{% endfor %}
{%- if steps %}
        IF EXISTS (SELECT 1 FROM @_New AS n WHERE n.[Step] NOT IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}))
            THROW 50021, N'{{ procedure }}: a step is none of the queue''s.', 1;
{%- endif %}
{%- if own %}

        /*
        The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
        a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
        items in succession have different keys. In which order numbers are drawn nobody promises: they are sorted.
        */
        INSERT INTO @_Number ([Number])
        SELECT NEXT VALUE FOR {{ object(queue ~ "_Seq") }} FROM @_New;
        SET @_First = (SELECT MIN(d.[Number]) FROM @_Number AS d);
{%- if group %}
{% set first = "@_First" %}
{%- filter indent(8, true) %}{% include "part/key_tick.sql" %}{% endfilter %}
{%- endif %}
        UPDATE n
        SET {{ t.key[0].var }} = DATEADD(
            MICROSECOND, d.[Number] - @_First + @_First % 10000, {{ "@_Tick" if group else "CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7))" }}
        )
        FROM @_New AS n
        INNER JOIN (SELECT a.[Number], ROW_NUMBER() OVER (ORDER BY a.[Number]) AS [Place] FROM @_Number AS a) AS d
            ON d.[Place] = n.[Ordinal] + 1;
{%- endif %}
{%- if dedup %}

{% if dedup.replaces %}{% include "part/same_replaced.sql" %}{% else %}{% include "part/same_work.sql" %}{% endif %}
{%- endif %}

        INSERT INTO {{ table }} (
{%- for a in t.added %}
            {{ a.quoted }}{{ "," if not loop.last }}
{%- endfor %}
        )
{%- if t.numbered and not own %}
        OUTPUT {% for k in t.key %}inserted.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %} INTO @_Made ({{ item.names(t) }})
{%- endif %}
        SELECT
{%- for a in t.added %}
            {% if a.from in ["key", "item"] %}n.{{ a.var }}
            {%- elif a.from == "literal" %}{{ a.literal }}
            {%- elif a.from == "kind" %}COALESCE(n.[Type], {{ text(types[0]) }})
            {%- elif a.from == "step" %}n.[Step]
            {%- elif a.from == "due" and after %}CASE WHEN n.[Waits] = 1 THEN {{ item.never() }} ELSE COALESCE(n.[DueAt], @_Now) END /* until it waits no more */
            {%- elif a.from == "due" %}COALESCE({{ item.theirs(t, "n.[DueAt]") }}, {{ item.theirs(t, "n." ~ a.var) ~ ", " if a.var }}{{ at }})
            {%- elif a.var %}COALESCE({{ item.theirs(t, "n." ~ a.var) }}, {{ at }})
            {%- else %}{{ at }}{% endif %}{{ "," if not loop.last }}
{%- endfor %}
        FROM @_New AS n{{ "\n        WHERE n.[IsNew] = 1" if dedup }}
{%- if dedup and own %}
        /* In the order of the work: two calls that bring the same work do not wait for each other in turn. */
        ORDER BY {% for c in t.work %}n.{{ c.var }}, {% endfor %}n.[Ordinal];
{%- else %}
        ORDER BY n.[Ordinal];
{%- endif %}

        IF @@ROWCOUNT <> {{ "(SELECT COUNT(*) FROM @_New AS n WHERE n.[IsNew] = 1)" if dedup else "@_Count" }}
            THROW 50021, N'{{ procedure }}: an index of the table passed over items; they are duplicates to it.', 1;
{%- if t.numbered and not own %}

        /* The table numbers them in the order in which they were put in. */
        UPDATE n
        SET
{%- for k in t.key %}
            {{ k.var }} = m.{{ k.var }}{{ "," if not loop.last }}
{%- endfor %}
        FROM @_New AS n
        INNER JOIN (
            SELECT i.[Ordinal], ROW_NUMBER() OVER (ORDER BY i.[Ordinal]) AS [Place]
            FROM @_New AS i{{ "\n            WHERE i.[IsNew] = 1" if dedup }}
        ) AS o ON o.[Ordinal] = n.[Ordinal]
        INNER JOIN (
            SELECT {{ item.list(t, "a") }}, ROW_NUMBER() OVER (ORDER BY {% for k in t.key if not k.given %}a.{{ k.var }}{{ ", " if not loop.last }}{% endfor %}) AS [Place]
            FROM @_Made AS a
        ) AS m ON m.[Place] = o.[Place];
{%- endif %}
{%- import "macro/coded.sql" as coded %}
{%- set listed = t.given | selectattr("is_coded") | list %}
{%- if listed %}

        IF {{ coded.may_lose() }}
        BEGIN
            SET @_Lost = (
                SELECT TOP (1) CONCAT(N'item ', n.[Ordinal], N': "columns.', x.[Name], N'"')
                FROM @_New AS n
                INNER JOIN {{ table }} AS q
                    ON {{ item.found(t, "n") }}
                CROSS APPLY (
                    VALUES
{%- for c in listed %}
                        (N'{{ c.name }}', {{ coded.kept(c) }}, n.{{ c.var }} COLLATE Latin1_General_BIN2){{ "," if not loop.last }}
{%- endfor %}
                ) AS x ([Name], [Kept], [Given])
                WHERE {{ "n.[IsNew] = 1 AND " if dedup }}{{ coded.has_lost("x") }}
                ORDER BY n.[Ordinal]
            );
{{- coded.refuse(procedure) }}
        END;
{%- endif %}
{%- for u in t.subtypes %}

        INSERT INTO {{ u.table }} ({% for k in t.key %}{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}{% for c in u.columns %}, {{ c.quoted }}{% endfor %})
        SELECT {{ item.list(t, "n") }}{% for c in u.columns %}, n.{{ c.var }}{% endfor %}
        FROM @_New AS n
        WHERE
            {{ "n.[IsNew] = 1 AND " if dedup }}
{%- if u.exclusive %}
            /* Every item of the type has a row; no other has one, as the table checks. */
            (COALESCE(n.[Type], {{ text(types[0]) }}) = {{ text(u.name) }} OR n.[{{ u.alias }}] IS NOT NULL);
{%- else %}
            n.[{{ u.alias }}] IS NOT NULL;
{%- endif %}
{%- endfor %}
{%- if dedup and dedup.replaces %}
{%- for u in t.subtypes %}

        DELETE {{ u.alias }}
        FROM @_Same AS s
        INNER JOIN {{ u.table }} AS {{ u.alias }} WITH (ROWLOCK)
            ON {{ item.part_of(t, "s", u.alias) }}
        WHERE s.[Status] IN ('Pending', 'Error', 'Paused')
        OPTION (LOOP JOIN, FORCE ORDER);

        INSERT INTO {{ u.table }} ({% for k in t.key %}{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}{% for c in u.columns %}, {{ c.quoted }}{% endfor %})
        SELECT {{ item.list(t, "s") }}{% for c in u.columns %}, n.{{ c.var }}{% endfor %}
        FROM @_Same AS s
        INNER JOIN @_New AS n ON n.[Ordinal] = s.[Ordinal]
        WHERE
            s.[Status] IN ('Pending', 'Error', 'Paused') AND {% if u.exclusive %}(COALESCE(n.[Type], {{ text(types[0]) }}) = {{ text(u.name) }} OR n.[{{ u.alias }}] IS NOT NULL){% else %}n.[{{ u.alias }}] IS NOT NULL{% endif %};
{%- endfor %}
{%- endif %}

        INSERT INTO @_Added ([Ordinal], [Answer], [Key]{{ ", [Token], [Status]" if not own else ", [Token]" if keeps_token }})
        SELECT
            n.[Ordinal], 'OK',
            {{ item.as_text(t, "n") }}{{ ",\n            @_Now" if own and keeps_token }}
{%- if not own %},
            {{ "COALESCE(q." ~ role.token ~ ", @_Now)" if role.token else "@_Now" }},
            {% if role.due %}'Pending'{% else %}CASE WHEN n.[DueAt] > @_Now THEN 'Error' ELSE 'Pending' END{% endif %}
{%- endif %}
        FROM @_New AS n
{%- if role.token and not own %}
        /* The token as the column keeps it; a key that its column rounds is not found, and its item is in all the same. */
        LEFT JOIN {{ table }} AS q
            ON {{ item.found(t, "n") }}
{%- endif %}{{ "\n        WHERE n.[IsNew] = 1" if dedup }}
{%- if role.token and not own %}
        OPTION (LOOP JOIN, FORCE ORDER)
{%- endif %};
{%- if dedup %}

        INSERT INTO @_Added ([Ordinal], [Answer], [Key]{{ ", [Token]" if dedup.replaces }})
        SELECT n.[Ordinal], 'DUPLICATE', a.[Key]{{ ", a.[Token]" if dedup.replaces }}
        FROM @_New AS n
        INNER JOIN @_Added AS a ON a.[Ordinal] = n.[First]
        WHERE n.[First] < n.[Ordinal] AND NOT EXISTS (SELECT 1 FROM @_Added AS o WHERE o.[Ordinal] = n.[Ordinal]);
{%- endif %}
{%- if not role.due and not presence %}

        /* The table has no due time: it shows what comes later as taken, and the row beside it says until when. */
        UPDATE q
        SET
{{- write.parked(t) }}
        FROM @_New AS n
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "n") }}
        WHERE {{ "n.[IsNew] = 1 AND " if dedup }}n.[DueAt] > @_Now
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if beside %}

        /* A row of an item that once had this key is of no concern any more. */
        DELETE s
        FROM @_New AS n
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "n") }}{{ "\n        WHERE n.[IsNew] = 1" if dedup }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if attempt_history and not own and not t.history %}

        /* Nor are its attempts. */
        DELETE a
        FROM @_New AS n
        INNER JOIN {{ t.attempt }} AS a WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "n") }}{{ "\n        WHERE n.[IsNew] = 1" if dedup }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if beside %}
{%- if not role.due or not role.step %}

        INSERT INTO {{ t.lease }} ({{ item.kept_names(t) }}, [Status], [Step], [AttemptNum], [DueAt], [UpdatedAt])
        SELECT
            {{ item.list(t, "n") }},
            {% if role.due %}'Pending'{% else %}CASE WHEN n.[DueAt] > @_Now THEN 'Error' ELSE 'Pending' END{% endif %},
            n.[Step], 0, n.[DueAt], @_Now
        FROM @_New AS n
        WHERE
            {{ "n.[IsNew] = 1 AND " if dedup }}{% if role.due %}n.[Step] IS NOT NULL{% elif role.step %}n.[DueAt] > @_Now{% else %}(n.[Step] IS NOT NULL OR n.[DueAt] > @_Now){% endif %};
{%- endif %}
{%- endif %}
{%- if after %}

        IF EXISTS (SELECT 1 FROM @_New AS n WHERE n.[Waits] = 1)
        BEGIN
            SET @_Result = (SELECT a.[Ordinal] AS [ordinal], a.[Answer] AS [answer], a.[Key] AS [key] FROM @_Added AS a FOR JSON PATH);
            EXECUTE {{ object(queue ~ "_Wait") }} @Items = @Items, @Answers = @_Result, @Now = @_Now;
        END;
{%- endif %}
