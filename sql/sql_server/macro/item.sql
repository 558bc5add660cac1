{#-
How an item stands in its table (q) and, where the table lacks a column, in the row beside it (s). `t` is the table. A
variable table's columns of a key are called Key1, Key2 ..., so that no name of the table's own meets one of ours.
-#}

{#- The key: the names in a variable table, those with an alias, equality, declaration, and as text for callers. -#}
{%- macro names(t) %}{% for k in t.key %}{{ k.var }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro list(t, v) %}{% for k in t.key %}{{ v }}.{{ k.var }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro of_item(t, q="q") %}{% for k in t.key %}{{ q }}.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro of_kept(t, s="s") %}{% for k in t.key %}{{ s }}.{{ k.kept }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro kept_names(t) %}{% for k in t.key %}{{ k.kept }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro attempt_names(t) %}{% for k in t.key %}{{ k.attempted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro attempt_of(t, v, a="a") %}
{%- for k in t.key %}{{ a }}.{{ k.attempted }} = {{ v }}.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro attempt_list(t, a="a") %}{% for k in t.key %}{{ a }}.{{ k.attempted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro attempt_is(t, a="a", q="q") %}
{%- for k in t.key %}{{ a }}.{{ k.attempted }} = {{ q }}.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro same(t, one, other) %}
{%- for k in t.key %}{{ one }}.{{ k.var }} = {{ other }}.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro missing(t, v) %}{% for k in t.key %}{{ v }}.{{ k.var }} IS NULL{{ " OR " if not loop.last }}{% endfor %}{% endmacro -%}
{#- Columns that stand before the key in an index, and those that tell the queue's rows from others. -#}
{%- macro among(t, q="q") %}
{%- for c in t.seek %}{{ q }}.{{ c.quoted }} IN ({{ c["values"] | join(", ") }}) AND {% endfor %}
{%- for c in t.rows %}{{ q }}.{{ c.quoted }} {{ c.is }} AND {% endfor %}
{%- endmacro -%}
{%- macro its(t, before="", q="q") %}{% for c in t.rows %}{{ before if loop.first else " AND " }}{{ q }}.{{ c.quoted }} {{ c.is }}{% endfor %}{% endmacro -%}
{%- macro found(t, v, q="q") %}
{{- among(t, q) }}
{%- for k in t.key %}{{ q }}.{{ k.quoted }} = {{ v }}.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro kept_for(t, v, s="s") %}
{%- for k in t.key %}{{ s }}.{{ k.kept }} = {{ v }}.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro kept_of(t, s="s", q="q") %}
{%- for k in t.key %}{{ s }}.{{ k.kept }} = {{ q }}.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{#- The row that a subtype has of an item. -#}
{%- macro part_of(t, v, u) %}
{%- for k in t.key %}{{ u }}.{{ k.quoted }} = {{ v }}.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro declared(t, null="NOT NULL") %}
{%- for k in t.key %}
        {{ k.var }} {{ k.type }}{{ k.collate }} {{ null }},
{%- endfor %}
{%- endmacro -%}
{%- macro one_text(k, value) %}
{#- A column may be a datetime, whose text has three digits where the time has more. -#}
{%- if k.type == "datetime2(7)" %}CONVERT(nvarchar(30), {{ "CAST(" ~ value ~ " AS datetime2(7))" if value is startingwith("q.") else value }}, 126)
{%- elif k.is_time %}CONVERT(nvarchar(30), CAST({{ value }} AS datetime2(7)), 126)
{%- elif k.type is startingwith("nvarchar") %}{{ value }}{{ " COLLATE DATABASE_DEFAULT" if k.collate }}
{%- elif k.type is startingwith("varchar") %}CAST({{ value }} AS nvarchar(4000)){{ " COLLATE DATABASE_DEFAULT" if k.collate }}
{%- elif k.type is startingwith("varbinary") %}CONVERT(nvarchar(4000), {{ value }}, 2)
{%- else %}CAST({{ value }} AS nvarchar({{ "41" if k.type is startingwith("decimal") else "36" }})){% endif %}
{%- endmacro -%}
{#- As callers get it: our own key as the time it is, others as text. -#}
{%- macro key_type(t) %}{{ t.key[0].type if t.own else "nvarchar(max)" }}{% endmacro -%}
{%- macro as_text(t, v, of="var") %}
{%- if t.own %}{{ v }}.{{ t.key[0][of] }}
{%- elif t.key | length == 1 %}{{ one_text(t.key[0], v ~ "." ~ t.key[0][of]) }}
{%- else %}CONCAT(N'["', {% for k in t.key %}STRING_ESCAPE({{ one_text(k, v ~ "." ~ k[of]) }}, 'json'), {{ "N'\",\"'" if not loop.last else "N'\"]'" }}{{ ", " if not loop.last }}{% endfor %}){% endif %}
{%- endmacro -%}
{#- As QueueRefused has it. -#}
{%- macro kept_key(t, v, of="var") -%}
{% if t.own %}{{ one_text(t.key[0], v ~ "." ~ t.key[0][of]) }}{% else %}LEFT({{ as_text(t, v, of) | replace("'\",\"', ", "'\",\"',\n                                ") }}, 400){% endif %} COLLATE Latin1_General_BIN2
{%- endmacro -%}
{#- The key in a request: a value, or an array with one for each column. Read as text, so that none is cut to fit. -#}
{%- macro asked(t, path="$.key", as_text=false) %}
{%- for k in t.key %}
        {{ k.var }} {{ k.type if t.own and not as_text else "nvarchar(max)" }} '{{ path }}{% if t.key | length > 1 %}[{{ loop.index0 }}]{% endif %}',
{%- endfor %}
{%- endmacro -%}
{%- macro read(k, given) %}
{%- if k.type is startingwith("nvarchar") %}CASE
            WHEN DATALENGTH({{ given }})
                = DATALENGTH(CAST({{ given }} AS {{ k.type }}))
                THEN {{ given }}
        END{{ k.collate }}
{%- elif k.type is startingwith("varchar") %}CASE
            WHEN CAST(CAST({{ given }}{{ k.collate }} AS {{ k.type }}) AS nvarchar(max)) COLLATE Latin1_General_BIN2
                = {{ given }} COLLATE Latin1_General_BIN2
                THEN CAST({{ given }}{{ k.collate }} AS {{ k.type }})
        END{{ k.collate }}
{%- elif k.type is startingwith("varbinary") %}CASE
            WHEN LEN({{ given }}) <= {{ k.hex }}
                THEN TRY_CONVERT({{ k.type }}, {{ given }}, 2)
        END
{%- else %}TRY_CAST(NULLIF({{ given }}, N'') AS {{ k.type }}){% endif %}
{%- endmacro -%}
{%- macro reads(t, v) %}
{%- for k in t.key %}
        {{ v ~ "." ~ k.var if t.own else read(k, v ~ "." ~ k.var) }},
{%- endfor %}
{%- endmacro -%}
{#- Keys as a filter and a page give them: text, or an array's text. -#}
{%- macro read_part(t, k, place, given) %}
{%- if t.key | length == 1 %}{{ read(k, given) }}{% else %}{{ read(k, "JSON_VALUE(CASE WHEN ISJSON(" ~ given ~ ") = 1 THEN " ~ given ~ " END, '$[" ~ place ~ "]')") }}{% endif %}
{%- endmacro -%}
{%- macro reads_text(t, given) %}
{%- for k in t.key %}
        {{ read_part(t, k, loop.index0, given) }},
{%- endfor %}
{%- endmacro -%}

{#- The states. -#}
{%- macro states(names) %}{% for name in names %}'{{ name }}'{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro stands(conditions, q="q") %}
{%- for c in conditions %}{{ q }}.{{ c.quoted }} {{ c.is }}{{ " AND " if not loop.last }}{% else %}1 = 1{% endfor %}
{%- endmacro -%}
{#-
Items that a claim takes when they are due. Where several values of a column mean Pending, it seeks the first: `value` is another.
-#}
{%- macro waits(t, q="q", value="") %}
{%- if t.waits %}{{ q }}.{{ t.waits.quoted }} IN ({{ t.waits["values"] | join(", ") }}){{ its(t, " AND ", q) }}
{%- elif t.staged %}
{%- for c in t.pending %}{{ q }}.{{ c.quoted }} {{ "= " ~ (value or t.staged.first) if c.quoted == t.staged.quoted else c.is }}{{ " AND " if not loop.last }}{% endfor %}
{%- else %}{{ stands(t.pending, q) }}{% endif %}
{%- endmacro -%}
{#-
Where rows show no state, the row beside says what is taken, or has ended. A look at many reads it without a lock, since it waits for
nobody; what is locked is looked at once more (`as_committed`): but for renewals, which are short, a call that holds the row beside holds
that of the table as well. Or it is joined already (s).
-#}
{%- macro and_free(t, q="q", as_committed=false) %}
{%- if t.presence %}
            AND NOT EXISTS (
                SELECT 1 FROM {{ t.lease }} AS f WITH ({{ "ROWLOCK, READCOMMITTEDLOCK" if as_committed else "READUNCOMMITTED" }})
                WHERE {{ kept_of(t, "f", q) }} AND f.[Status] NOT IN ({{ states(t.claimable) }})
            )
{%- endif %}
{%- endmacro -%}
{%- macro and_free_here(t) %}{% if t.presence %} AND (s.[Status] IS NULL OR s.[Status] IN ({{ states(t.claimable) }})){% endif %}{% endmacro -%}
{%- macro finished(status) %}{{ status }} NOT IN ('Pending', 'Processing', 'Error', 'Paused'){% endmacro -%}
{%- macro status(t, q="q", s="s") %}
{%- if t.state_column %}{{ q }}.{{ t.state_column }}
{%- else %}CASE
{%- for e in t.encodings %}
            WHEN {{ stands(e.conditions, q) }}
{%- if e.states | length == 1 %} THEN '{{ e.default }}'
{%- else %}
                THEN CASE
                    WHEN {{ s }}.[Status] IN ({{ states(e.states) }})
                        THEN {{ s }}.[Status]
                    ELSE '{{ e.default }}'
                END
{%- endif %}
{%- endfor %}
            ELSE 'Processing'
        END
{%- endif %}
{%- endmacro -%}

{#- Whether a worker has it: the table may tell other states by the same values. -#}
{%- macro is_processing(t) %}
{%- set told = namespace(alone=true) %}
{%- for e in t.encodings if "Processing" in e.states and e.states | length > 1 %}{% set told.alone = false %}{% endfor %}
{{- stands(t.processing) if told.alone else status(t) ~ " = 'Processing'" }}
{%- endmacro -%}

{#- Times: ours are UTC, the table's may be the server's. -#}
{%- macro utc(t, value, offset="@_Offset") %}
{%- if t.local_time %}DATEADD(MINUTE, -{{ offset }}, CAST({{ value }} AS datetime2(7))){% elif t.own %}{{ value }}{% else %}CAST({{ value }} AS datetime2(7)){% endif %}
{%- endmacro -%}
{%- macro theirs(t, value) %}{% if t.local_time %}DATEADD(MINUTE, @_Offset, {{ value }}){% else %}{{ value }}{% endif %}{% endmacro -%}

{#- The life cycle. Text of the table's beside text of ours is compared in the database's collation. -#}
{%- macro plain(t, value) %}{{ value }}{{ " COLLATE DATABASE_DEFAULT" if not t.own }}{% endmacro -%}
{#-
Text that a column keeps and that is written back: read in its own code page before anything else, or what that has and the
database's has not would become question marks.
-#}
{%- macro kept(t, value) %}
{%- if t.own %}{{ value }}{% else %}CAST({{ value }} AS nvarchar(max)) COLLATE DATABASE_DEFAULT{% endif %}
{%- endmacro -%}
{%- macro attempts(t, q="q", s="s") %}
{%- if t.own %}{{ q }}.{{ t.role.attempts }}
{%- elif t.role.attempts %}COALESCE(CAST({{ q }}.{{ t.role.attempts }} AS int), 0)
{%- else %}COALESCE({{ s }}.[AttemptNum], 0){% endif %}
{%- endmacro -%}
{#- Compared by code point, as in the table beside it: two workers whose names differ only in case are two workers. -#}
{%- macro owner(t, q="q", s="s") %}
{%- if t.own %}{{ q }}.{{ t.role.owner }}
{%- elif t.role.owner %}CAST({{ q }}.{{ t.role.owner }} AS nvarchar(128)) COLLATE Latin1_General_BIN2
{%- else %}{{ s }}.[LeaseOwner]{% endif %}
{%- endmacro -%}
{%- macro token(t, q="q", s="s") %}{% if t.own %}{{ q }}.{{ t.role.token }}{% elif t.role.token %}CAST({{ q }}.{{ t.role.token }} AS datetime2(7)){% else %}{{ s }}.[UpdatedAt]{% endif %}{% endmacro -%}
{%- macro later(t, token) %}
{%- set now = t.at if t.role.token else "@_Now" %}CASE WHEN {{ token }} >= {{ now }} THEN DATEADD(MICROSECOND, 1, {{ token }}) ELSE {{ now }} END
{%- endmacro -%}
{%- macro kept_text(t, column, side) %}
{%- if column and t.beside %}COALESCE({{ plain(t, "q." ~ column) }}, s.{{ side }}){% elif column %}{{ plain(t, "q." ~ column) }}{% else %}s.{{ side }}{% endif %}
{%- endmacro -%}
{%- macro step(t) %}{{ kept_text(t, t.role.step, "[Step]") }}{% endmacro -%}
{%- macro response(t) %}{{ kept_text(t, t.role.response, "[Response]") }}{% endmacro -%}
{%- macro error(t) %}{{ kept_text(t, t.role.error, "[Error]") }}{% endmacro -%}
{%- macro started(t, offset="@_Offset") %}
{%- if not t.beside %}{{ utc(t, "q." ~ t.role.started, offset) }}
{%- elif t.role.started and not t.run_time %}COALESCE(s.[StartedAt], {{ utc(t, "q." ~ t.role.started, offset) }})
{%- else %}s.[StartedAt]{% endif %}
{%- endmacro -%}
{%- macro duration(t) %}
{%- if t.role.duration and t.beside %}COALESCE(q.{{ t.role.duration }}, s.[Duration])
{%- elif t.role.duration %}q.{{ t.role.duration }}
{%- elif not t.beside %}DATEDIFF_BIG(MILLISECOND, q.{{ t.role.started }}, q.{{ t.role.finished }})
{%- elif t.completed_is_told and t.role.started and t.role.finished and not t.run_time %}COALESCE(
        s.[Duration],
        /* Nothing of completed items is kept beside the table, which has both times. */
        CASE
            WHEN {{ stands(t.completed) }}
                THEN DATEDIFF_BIG(MILLISECOND, q.{{ t.role.started }}, q.{{ t.role.finished }})
        END
    )
{%- else %}s.[Duration]{% endif %}
{%- endmacro -%}
{%- macro due_at(t, offset="@_Offset") %}{% if t.role.due %}{{ utc(t, "q." ~ t.role.due, offset) }}{% else %}s.[DueAt]{% endif %}{% endmacro -%}
{#- Until when the claim holds. An item that somebody else took, with no time, holds for a lease's time. -#}
{%- macro until(t, lease, offset="@_Offset") %}
{%- if t.role.lease_until and t.foreign and not t.beside %}COALESCE(
            {{ utc(t, "q." ~ t.role.lease_until, offset) }},
            DATEADD(MILLISECOND, {{ lease }}, {{ utc(t, "q." ~ t.role.started, offset) }})
        )
{%- elif t.own %}q.{{ t.role.lease_until }}
{%- elif t.role.lease_until %}{{ utc(t, "q." ~ t.role.lease_until, offset) }}
{%- elif t.foreign %}CASE
            {#- The row beside may tell of a claim that somebody else's has broken since. #}
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'{% if t.role.owner %}
                OR s.[LeaseOwner] <> {{ owner(t) }}{% endif %}
                THEN DATEADD(MILLISECOND, {{ lease }}, {{ utc(t, "q." ~ t.role.started, offset) }})
            ELSE s.[LeaseUntil]
        END
{%- else %}s.[LeaseUntil]{% endif %}
{%- endmacro -%}
{#- 1 for what came back from a dead worker: while it waits, it keeps its lease that is over. -#}
{%- macro died(t) %}
{%- if t.beside %}CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END
{%- else %}CASE WHEN q.{{ t.role.lease_until }} IS NOT NULL THEN 1 ELSE 0 END{% endif %}
{%- endmacro -%}

{#- The row beside the table, where there is such a table; the caller indents it as its FROM. -#}
{%- macro beside(t, hints="") %}
{%- if t.beside %}
LEFT JOIN {{ t.lease }} AS s{{ hints }}
    ON {{ kept_of(t) }}
{%- endif %}
{%- endmacro -%}
{#- For figures. Where rows show no state, one whose row beside is passed over would look free. -#}
{%- macro looked_at(t) %} WITH ({{ "READUNCOMMITTED" if t.presence else "ROWLOCK, READPAST, READCOMMITTEDLOCK" }}){% endmacro -%}
{%- macro beside_of(t, v, hints="") %}
{%- if t.beside %}
LEFT JOIN {{ t.lease }} AS s{{ hints }}
    ON {{ kept_for(t, v) }}
{%- endif %}
{%- endmacro -%}

{#- The columns of the worker view, and of the items that calls hand out. -#}
{%- macro columns(t, offset="@_Offset", for_workers=true) %}
{%- if t.own %}
    {%- for c in t.shown %}
    q.{{ c }},
    {%- endfor %}
    {%- for c in t.columns %}
    {{ "CAST(NULL AS " ~ c.type ~ ") AS " if c.secret and not for_workers else "q." }}{{ c.quoted }},
    {%- endfor %}
{%- else %}
    {%- for c in t.columns %}
    {{ "CAST(NULL AS " ~ c.type ~ ")" if c.secret and not for_workers else "q." ~ c.quoted }} AS {{ c.shown }},
    {%- endfor %}
    {%- for k in t.key if k.quoted not in t.payload %}
    q.{{ k.quoted }},
    {%- endfor %}
    {%- if t.role.kind and t.role.kind not in t.payload %}
    q.{{ t.role.kind }} AS [ItemType],
    {%- endif %}
    {%- if t.role.enqueued %}
    {{ utc(t, "q." ~ t.role.enqueued, offset) }} AS [ItemEnqueuedAt],
    {%- endif %}
    {{ status(t) }} AS [ItemStatus],
    {{ step(t) }} AS [ItemStep],
    {{ attempts(t) }} AS [ItemAttempt],
    {{ response(t) }} AS [ItemResponse],
    {{ error(t) }} AS [ItemError],
    {{ started(t, offset) }} AS [ItemStartedAt],
    {{ duration(t) }} AS [ItemDuration],
    {{ due_at(t, offset) }} AS [ItemDueAt],
    {{ token(t) }} AS [ItemToken],
    {{ owner(t) }} AS [ItemOwner],
    CASE WHEN {{ is_processing(t) }} THEN {{ until(t, t.lease_ms, offset) }} END AS [ItemLeaseUntil],
{%- endif %}
    {%- for u in t.subtypes %}{% for c in u.columns %}
    {{ "CAST(NULL AS " ~ c.type ~ ")" if c.secret and not for_workers else u.alias ~ "." ~ c.quoted }} AS {{ c.shown }},
    {%- endfor %}{% endfor %}
{%- endmacro -%}
{%- macro subtypes(t) %}
{%- for u in t.subtypes %}
LEFT JOIN {{ u.table }} AS {{ u.alias }}
    ON {% for k in t.key %}{{ u.alias }}.{{ k.quoted }} = q.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
{%- endfor %}
{%- endmacro -%}
{#- Arrivals of the last hour; a clock that is a little fast hides none, and a plan for later has not come. -#}
{%- macro lately(at, now) -%}{{ at }} > DATEADD(HOUR, -1, {{ now }}) AND {{ at }} <= DATEADD(MINUTE, 1, {{ now }}){%- endmacro -%}
{#- The due time of an item that waits for others. -#}
{%- macro never() %}'9999-12-31'{% endmacro -%}
{#- No item waits for it: as it is now, or with READPAST in a search, which waits for nobody. -#}
{%- macro not_waited_for(how="") -%}
NOT EXISTS (
                SELECT 1 FROM {{ object(queue ~ "_After") }} AS x WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK{{ how }})
                WHERE x.[Parent] = q.[EnqueuedAt] AND x.[Outcome] IS NULL
            )
{%- endmacro -%}
