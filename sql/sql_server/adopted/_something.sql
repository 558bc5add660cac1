{%- if w.role == "started" %}CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN {{ "@RunAt" if run_time else "@At" }} ELSE COALESCE(q.{{ w.quoted }}, @At) END
{%- elif w.role == "finished" %}COALESCE({{ n.own("w.[FinishedAt]", local_time) }}, @At)
{%- elif w.role == "owner" %}COALESCE(w.[LeaseOwner], {{ n.plain("q." ~ w.quoted) }})
{%- elif w.role == "error" %}COALESCE(LEFT(w.[Error], @ErrorChars), {{ n.plain("q." ~ w.quoted) }}, w.[Status])
{%- elif w.role in ["step", "response"] %}COALESCE(w.[{{ w.role | title }}], {{ n.plain("q." ~ w.quoted) }}, w.[Status])
{%- else %}COALESCE(q.{{ w.quoted }}, @At)
{%- endif %}
