{#- Values that a frame hands on to the claim, behind the rest. A claim of one item is not looked for: it has no number. -#}
{{ ", @StartedAt = @StartedAt" if run_time }}{{ ", @Types = @Types" if asks_types }}{{ ", @Steps = @Steps" if asks_steps }}{{ ", @Claim = @Claim" if marks_claims and unmarked is undefined }}
