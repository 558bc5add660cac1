{#- The columns of a statement. With this condition it is planned, and not executed. -#}
{{ before or "SELECT " }}r.* FROM {{ from }}
{{ joins }} false
