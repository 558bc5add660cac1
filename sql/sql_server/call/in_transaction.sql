{#- The procedures say it themselves. -#}
