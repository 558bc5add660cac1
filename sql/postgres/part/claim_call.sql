{#- The call of the claim of the items with these keys, the arguments of which are the caller's own. -#}
{{ object("claim_" ~ queue ~ "_trx") }}(
            worker_, lease_ms_, max_attempts_{{ ", started_at_" if run_time }}{{ ", claim_" if marks_claims }}{{ ", " ~ (apart | bool | upper) if beside }}
            {%- for column in key %}, key_{{ loop.index }}_{{ "[from_:to_]" if apart }}{% endfor %}
        ) AS n