        INSERT INTO @New (
            [Ordinal], [Type], [Step], [DueAt]
{%- for c in columns %}{% if c.quoted in dedup_columns %}, [Work{{ loop.index }}]{% endif %}{% endfor %}
{%- for k in key %}{% if k.quoted in given_keys %}, {{ k.quoted }}{% endif %}{% endfor %}
        )
        SELECT
            CAST(j.[key] AS int),
            r.[Type],
            r.[Step],
            COALESCE(
                r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now))
            )
{%- for c in columns %}{% if c.quoted in dedup_columns %},
            r.[Work{{ loop.index }}]
{%- endif %}{% endfor %}
{%- for k in key %}{% if k.quoted in given_keys %},
            {% if k.is_guid %}COALESCE(r.{{ k.quoted }}, NEWID()){% else %}r.{{ k.quoted }}{% endif %}
{%- endif %}{% endfor %}
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [Type] nvarchar(max) '$.type',
            [Step] nvarchar(max) '$.step',
            [DueAt] datetime2(7) '$.due',
            [DelayMs] bigint '$.delay_ms'
{%- for c in columns %}{% if c.quoted in dedup_columns %},
            [Work{{ loop.index }}] {{ c.json_type }} '{{ c.path | replace("'", "''") }}'
{%- endif %}{% endfor %}
{%- for k in key %}{% if k.quoted in given_keys %},
            {{ k.quoted }} {{ "nvarchar(max)" if k.type is startingwith("nvarchar") else k.type }} '{{ k.path | replace("'", "''") }}'
{%- endif %}{% endfor %}
        ) AS r;
        SET @Count = @@ROWCOUNT;

        IF @Count > 1000
            THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;
{%- if not role.due %}
        IF EXISTS (SELECT 1 FROM @New AS n WHERE n.[DueAt] > @Now)
            THROW 50021, N'{{ procedure }}: the table has no column for when an item is due.', 1;
{%- endif %}
{%- if dedup %}

        /*
        What of it is there already. The locks are on the index, in its order, and on the gaps where new rows belong:
        whoever enqueues the same work at the same time waits, and then finds it.
        */
        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT
            w.[Ordinal],
            'DUPLICATE',
            MIN({{ n.text(key, "q") }})
        FROM (
            SELECT TOP (1000)
                m.[Ordinal]{% for c in columns %}{% if c.quoted in dedup_columns %},
                m.[Work{{ loop.index }}]{% endif %}{% endfor %}
            FROM @New AS m
            ORDER BY {% for c in columns %}{% if c.quoted in dedup_columns %}m.[Work{{ loop.index }}], {% endif %}{% endfor %}m.[Ordinal]
        ) AS w
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK)
            ON
{%- set together = namespace(word="") %}
{%- for c in columns %}{% if c.quoted in dedup_columns %}
                {{ together.word }}q.{{ c.quoted }} = w.[Work{{ loop.index }}]
{%- set together.word = "AND " %}
{%- endif %}{% endfor %}
{%- if dedup.unfinished_only %}
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
        WHERE
{% filter indent(12, true) %}{% include "adopted/_status.sql" %}{% endfilter %}
            IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
        GROUP BY w.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* The same work twice in one call: the first counts. */
        UPDATE n
        SET
            [IsNew] = CASE WHEN a.[Ordinal] IS NOT NULL OR f.[First] < n.[Ordinal] THEN 0 ELSE 1 END,
            [First] = f.[First]
        FROM @New AS n
        INNER JOIN (
            SELECT
                m.[Ordinal],
                CASE
                    WHEN {% set together.word = "" %}{% for c in columns %}{% if c.quoted in dedup_columns %}{{ together.word }}m.[Work{{ loop.index }}] IS NOT NULL{% set together.word = " AND " %}{% endif %}{% endfor %}
                        THEN MIN(m.[Ordinal]) OVER (PARTITION BY {% set together.word = "" %}{% for c in columns %}{% if c.quoted in dedup_columns %}{{ together.word }}m.[Work{{ loop.index }}]{% set together.word = ", " %}{% endif %}{% endfor %})
                    ELSE m.[Ordinal]
                END AS [First]
            FROM @New AS m
        ) AS f
            ON f.[Ordinal] = n.[Ordinal]
        LEFT JOIN @Added AS a
            ON a.[Ordinal] = n.[Ordinal];
{%- endif %}

        INSERT INTO {{ table }} (
{%- for a in added %}
            {{ a.quoted }}{{ "," if not loop.last }}
{%- endfor %}
        )
{%- if numbered %}
        OUTPUT {% for k in key %}INSERTED.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %} INTO @Made ({{ n.names(key) }})
{%- endif %}
        SELECT
{%- for a in added %}
            {% if a.from == "key" %}n.{{ a.quoted }}
            {%- elif a.from == "item" %}c.{{ a.quoted }}
            {%- elif a.from == "literal" %}{{ a.literal }}
            {%- elif a.from == "kind" %}COALESCE(n.[Type], {{ text(types[0]) }})
            {%- elif a.from == "step" %}n.[Step]
            {%- elif a.from == "due" %}COALESCE({{ n.own("n.[DueAt]", local_time) }}, {{ n.own("c." ~ a.quoted, local_time) ~ ", " if a.given }}@At)
            {%- elif a.given %}COALESCE({{ n.own("c." ~ a.quoted, local_time) }}, @At)
            {%- else %}@At{% endif %}{{ "," if not loop.last }}
{%- endfor %}
{%- if item_columns %}
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
{%- for c in item_columns %}
            {{ c.quoted }} {{ c.json_type }} '{{ c.path | replace("'", "''") }}'{{ " AS JSON" if c.is_json }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS c
        INNER JOIN @New AS n
            ON n.[Ordinal] = CAST(j.[key] AS int)
{%- else %}
        FROM @New AS n
{%- endif %}
        WHERE n.[IsNew] = 1
        ORDER BY n.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @New AS n WHERE n.[IsNew] = 1)
            THROW 50021, N'{{ procedure }}: an index of the table passed over items; they are duplicates to it.', 1;
{%- if numbered %}

        /* The table numbers them in the order in which they were put in. */
        UPDATE n
        SET
{%- for k in key %}
            {{ k.quoted }} = m.{{ k.quoted }}{{ "," if not loop.last }}
{%- endfor %}
        FROM @New AS n
        INNER JOIN (
            SELECT i.[Ordinal], ROW_NUMBER() OVER (ORDER BY i.[Ordinal]) AS [Place]
            FROM @New AS i
            WHERE i.[IsNew] = 1
        ) AS o
            ON o.[Ordinal] = n.[Ordinal]
        INNER JOIN (
            SELECT {{ n.list(key, "t") }}, ROW_NUMBER() OVER (ORDER BY {{ numbered | join(", ") }}) AS [Place]
            FROM @Made AS t
        ) AS m
            ON m.[Place] = o.[Place];
{%- endif %}

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT n.[Ordinal], 'OK', {{ n.text(key, "n") }}
        FROM @New AS n
        WHERE n.[IsNew] = 1;
{%- if dedup %}

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT n.[Ordinal], 'DUPLICATE', a.[Key]
        FROM @New AS n
        INNER JOIN @Added AS a
            ON a.[Ordinal] = n.[First]
        WHERE
            n.[First] < n.[Ordinal]
            AND NOT EXISTS (SELECT 1 FROM @Added AS o WHERE o.[Ordinal] = n.[Ordinal]);
{%- endif %}
{%- if not role.step %}

        INSERT INTO {{ object(queue ~ "_Lease") }} ({{ n.names(key) }}, [Status], [Step], [AttemptNum], [UpdatedAt])
        SELECT {{ n.list(key, "n") }}, 'Pending', n.[Step], 0, @Now
        FROM @New AS n
        WHERE
            n.[IsNew] = 1
            AND n.[Step] IS NOT NULL;
{%- endif %}
