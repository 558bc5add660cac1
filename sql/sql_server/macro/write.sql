{#-
How a change of items is written: the one place where columns of a table change. `t` is the table. `x` has expressions by the roles
of the columns that change, and no others: `status`, or `to` where the state is known; `started` is the condition on which an attempt
begins ("always" where it does). A value that is NULL leaves the column as it is, but for those under `is`, and the end of a lease.
-#}
{%- import "macro/item.sql" as item -%}

{#- An item as it becomes, in a row w with all of it. -#}
{%- set row = {
    "status": "w.[Status]", "started": "w.[Was] <> 'Processing' AND w.[Status] = 'Processing'", "attempts": "w.[AttemptNum]",
    "token": "w.[Token]", "step": "w.[Step]", "response": "w.[Response]", "error": "w.[Error]", "finished": "w.[FinishedAt]",
    "duration": "w.[Duration]", "due": "w.[DueAt]", "owner": "w.[LeaseOwner]", "lease_until": "w.[LeaseUntil]", "is": {},
} -%}

{#- As much of an error as its column takes. -#}
{%- macro message(t, text) %}{{ text if t.own else "LEFT(" ~ text ~ ", @_ErrorChars)" }}{% endmacro -%}
{%- macro begun(t) %}{{ "@_RunAt" if t.run_time else t.at }}{% endmacro -%}

{#- The new value of a column that plays a role. -#}
{%- macro value(t, w, x) %}
{%- set kept = item.kept(t, "q." ~ w.quoted) %}
{%- if w.role in x.is %}{{ x.is[w.role] }}
{%- elif w.role not in x %}q.{{ w.quoted }}
{%- elif w.role in ["due", "finished"] %}COALESCE({{ item.theirs(t, x[w.role]) }}, q.{{ w.quoted }})
{%- elif w.role == "started" and x.started == "always" %}{{ begun(t) }}
{%- elif w.role == "started" %}CASE WHEN {{ x.started }} THEN {{ begun(t) }} ELSE q.{{ w.quoted }} END
{%- elif w.role == "owner" %}CASE
                WHEN {{ x.status }} = 'Processing' THEN {{ x.owner }}
                ELSE {{ kept }}
            END
{%- elif w.role == "lease_until" and t.beside %}CASE WHEN {{ x.status }} = 'Processing' THEN {{ item.theirs(t, x.lease_until) }} END
{%- elif w.role == "lease_until" %}{{ item.theirs(t, x.lease_until) }}
{%- elif w.role == "error" and "to" in x %}{{ message(t, x.error) }}
{%- elif w.role == "error" %}COALESCE({{ message(t, x.error) }}, CASE
{%- if "spent" in x %}
                WHEN {{ x.spent }}
                    THEN {{ message(t, x.spent_error) }}
{%- endif %}
                WHEN {{ x.status }} = 'Completed' THEN LEFT({{ kept }}, 0)
                ELSE {{ kept }}
            END)
{%- elif w.role in ["step", "response", "duration"] %}COALESCE({{ x[w.role] }}, {{ kept }})
{%- else %}{{ x[w.role] }}
{%- endif %}
{%- endmacro -%}

{#- The new value of a column of which the state says only that it holds something. -#}
{%- macro something(t, w, x) %}
{%- set kept = item.kept(t, "q." ~ w.quoted) %}
{%- set status = x.status if "to" not in x else "'" ~ x.to ~ "'" %}
{%- if w.role == "started" and "started" in x and x.started != "always" %}CASE WHEN {{ x.started }} THEN {{ begun(t) }}{{ "\n                   " if t.run_time }} ELSE COALESCE(q.{{ w.quoted }}, {{ t.at }}) END
{%- elif w.role == "started" and "started" in x %}{{ begun(t) }}
{%- elif w.role == "finished" and "finished" in x %}COALESCE({{ item.theirs(t, x.finished) }}, {{ t.at }})
{%- elif w.role == "owner" and "owner" in x.is %}COALESCE({{ x.is.owner }}, {{ kept }})
{%- elif w.role == "owner" and "owner" in x %}COALESCE({{ x.owner }}, {{ kept }})
{%- elif w.role == "owner" %}{{ kept }}
{%- elif w.role == "error" and "error" in x %}COALESCE({{ message(t, x.error) }}, {{ message(t, "CASE WHEN " ~ x.spent ~ " THEN " ~ x.spent_error ~ " END") ~ ", " if "spent" in x }}{{ kept }}, {{ status }})
{%- elif w.role in ["error", "step", "response"] and w.role not in x %}COALESCE({{ kept }}, {{ status }})
{%- elif w.role in ["step", "response"] %}COALESCE({{ x[w.role] }}, {{ kept }}, {{ status }})
{%- else %}COALESCE(q.{{ w.quoted }}, {{ t.at }})
{%- endif %}
{%- endmacro -%}

{%- macro told(t, w, x, case) %}{% if case.holds == "something" %}{{ something(t, w, x) }}{% else %}{{ case.literal }}{% endif %}{% endmacro -%}

{#- The columns that change. -#}
{%- macro assignments(t, x) %}
{%- for w in t.written if w.role in x or w.role in x.is or w.cases or w.quoted == t.state_column %}
            {{ w.quoted }} = {% if w.quoted == t.state_column %}{{ x.status if "to" not in x else "'" ~ x.to ~ "'" }}
{%- elif not w.cases %}{{ value(t, w, x) }}
{%- elif "to" in x %}
{%- set known = namespace(is=false) %}
{%- for case in w.cases if x.to in case.states %}{% set known.is = true %}{{ told(t, w, x, case) }}{% endfor %}
{{- "" if known.is else value(t, w, x) }}
{%- else %}CASE
{%- for case in w.cases %}
                WHEN {{ x.status }} IN ({{ item.states(case.states) }})
                    THEN {{ told(t, w, x, case) }}
{%- endfor %}
                ELSE {{ value(t, w, x) }}
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
