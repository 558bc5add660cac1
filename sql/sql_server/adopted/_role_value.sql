{%- if w.role == "due" %}COALESCE({{ n.own("w.[DueAt]", local_time) }}, q.{{ w.quoted }})
{%- elif w.role == "started" %}CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN {{ "@RunAt" if run_time else "@At" }} ELSE q.{{ w.quoted }} END
{%- elif w.role == "finished" %}COALESCE({{ n.own("w.[FinishedAt]", local_time) }}, q.{{ w.quoted }})
{%- elif w.role == "duration" %}COALESCE(w.[Duration], q.{{ w.quoted }})
{%- elif w.role == "attempts" %}w.[AttemptNum]
{%- elif w.role == "owner" %}CASE WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner] ELSE {{ n.plain("q." ~ w.quoted) }} END
{%- elif w.role == "lease_until" %}CASE WHEN w.[Status] = 'Processing' THEN {{ n.own("w.[LeaseUntil]", local_time) }} END
{%- elif w.role == "step" %}COALESCE(w.[Step], {{ n.plain("q." ~ w.quoted) }})
{%- elif w.role == "response" %}COALESCE(w.[Response], {{ n.plain("q." ~ w.quoted) }})
{%- elif w.role == "error" %}COALESCE(LEFT(w.[Error], @ErrorChars), CASE WHEN w.[Status] = 'Completed' THEN LEFT({{ n.plain("q." ~ w.quoted) }}, 0) ELSE {{ n.plain("q." ~ w.quoted) }} END)
{%- elif w.role == "token" %}w.[Token]
{%- else %}q.{{ w.quoted }}
{%- endif %}
