{#-
How a change of items is written: the one place where columns of a table change. `t` is the table; `w` is a row of what an
item becomes, with the columns that `_change.sql` declares.
-#}
{%- import "part/item.sql" as item -%}

{#- The new value of a column that plays a role. -#}
{%- macro value(t, w) %}
{%- if w.role == "due" %}COALESCE({{ item.theirs(t, "w.[DueAt]") }}, q.{{ w.quoted }})
{%- elif w.role == "started" %}CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN {{ "@_RunAt" if t.run_time else t.at }} ELSE q.{{ w.quoted }} END
{%- elif w.role == "finished" %}COALESCE({{ item.theirs(t, "w.[FinishedAt]") }}, q.{{ w.quoted }})
{%- elif w.role == "duration" %}COALESCE(w.[Duration], q.{{ w.quoted }})
{%- elif w.role == "attempts" %}w.[AttemptNum]
{%- elif w.role == "owner" %}CASE
                WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE {{ item.kept(t, "q." ~ w.quoted) }}
            END
{%- elif w.role == "lease_until" and t.beside %}CASE WHEN w.[Status] = 'Processing' THEN {{ item.theirs(t, "w.[LeaseUntil]") }} END
{%- elif w.role == "lease_until" %}{{ item.theirs(t, "w.[LeaseUntil]") }}
{%- elif w.role == "step" %}COALESCE(w.[Step], {{ item.kept(t, "q." ~ w.quoted) }})
{%- elif w.role == "response" %}COALESCE(w.[Response], {{ item.kept(t, "q." ~ w.quoted) }})
{%- elif w.role == "error" %}COALESCE({{ message(t) }}, CASE
                WHEN w.[Status] = 'Completed' THEN LEFT({{ item.kept(t, "q." ~ w.quoted) }}, 0)
                ELSE {{ item.kept(t, "q." ~ w.quoted) }}
            END)
{%- elif w.role == "token" %}w.[Token]
{%- else %}q.{{ w.quoted }}
{%- endif %}
{%- endmacro -%}

{#- The new value of a column of which the state says only that it holds something. -#}
{%- macro something(t, w) %}
{%- if w.role == "started" %}CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN {{ "@_RunAt" if t.run_time else t.at }} ELSE COALESCE(q.{{ w.quoted }}, {{ t.at }}) END
{%- elif w.role == "finished" %}COALESCE({{ item.theirs(t, "w.[FinishedAt]") }}, {{ t.at }})
{%- elif w.role == "owner" %}COALESCE(w.[LeaseOwner], {{ item.kept(t, "q." ~ w.quoted) }})
{%- elif w.role == "error" %}COALESCE({{ message(t) }}, {{ item.kept(t, "q." ~ w.quoted) }}, w.[Status])
{%- elif w.role in ["step", "response"] %}COALESCE(w.[{{ w.role | title }}], {{ item.kept(t, "q." ~ w.quoted) }}, w.[Status])
{%- else %}COALESCE(q.{{ w.quoted }}, {{ t.at }})
{%- endif %}
{%- endmacro -%}

{#- As much of an error as its column takes. -#}
{%- macro message(t) %}{{ "w.[Error]" if t.own else "LEFT(w.[Error], @_ErrorChars)" }}{% endmacro -%}

{#- The columns that change, but for those of the roles in `untouched`. -#}
{%- macro assignments(t, untouched=[]) %}
{%- for w in t.written if w.role not in untouched or w.cases %}
            {{ w.quoted }} = {% if w.quoted == t.state_column %}w.[Status]
{%- elif not w.cases %}{{ value(t, w) }}
{%- else %}CASE
{%- for case in w.cases %}
                WHEN w.[Status] IN ({{ item.states(case.states) }})
                    THEN {% if case.holds == "something" %}{{ something(t, w) }}{% else %}{{ case.literal }}{% endif %}
{%- endfor %}
                ELSE {{ value(t, w) }}
            END
{%- endif %}{{ "," if not loop.last }}
{%- endfor %}
{%- endmacro -%}

{#- The columns that tell the state, of an item that is put in for later: as of one that waits for its next attempt. -#}
{%- macro parked(t) %}
{%- for w in t.written if w.cases %}
            {{ w.quoted }} = {% set becomes = namespace(value="q." ~ w.quoted) %}
{%- for case in w.cases if "Error" in case.states %}
{%- set becomes.value = ("COALESCE(q." ~ w.quoted ~ ", " ~ ("'Error'" if w.role in ["owner", "error", "step", "response"] else t.at) ~ ")") if case.holds == "something" else case.literal %}
{%- endfor %}
{{- becomes.value }}{{ "," if not loop.last }}
{%- endfor %}
{%- endmacro -%}

{#- An item as it becomes, as a row: values that are not given stay. -#}
{%- macro change(was, status, attempts, token, error="CAST(NULL AS nvarchar(max))", finished="CAST(NULL AS datetime2(7))", owner="CAST(NULL AS nvarchar(128))", until="CAST(NULL AS datetime2(7))") %}
                    '{{ was }}' AS [Was],
                    '{{ status }}' AS [Status],
                    {{ attempts }} AS [AttemptNum],
                    {{ token }} AS [Token],
                    CAST(NULL AS nvarchar(60)) AS [Step],
                    CAST(NULL AS nvarchar(max)) AS [Response],
                    {{ error }} AS [Error],
                    {{ finished }} AS [FinishedAt],
                    CAST(NULL AS bigint) AS [Duration],
                    CAST(NULL AS datetime2(7)) AS [DueAt],
                    {{ owner }} AS [LeaseOwner],
                    {{ until }} AS [LeaseUntil]
{%- endmacro -%}
