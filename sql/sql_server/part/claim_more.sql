{#- What a frame hands on to the claim, behind the rest. -#}
{{ ", @StartedAt = @StartedAt" if run_time }}{{ ", @Types = @Types" if asks_types }}{{ ", @Steps = @Steps" if asks_steps }}
