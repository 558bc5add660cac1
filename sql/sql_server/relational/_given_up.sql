{%- if resume_own -%}
(
    q.[LeaseUntil] <= @Now
    OR (@Recover = 2 AND q.[LeaseOwner] = @Worker)
)
{%- else -%}
q.[LeaseUntil] <= @Now
{%- endif -%}
