SELECT a.{{ settings_of.value }} FROM {{ settings_of.table }} AS a WHERE a.{{ settings_of.param }} = ?::text AND a.{{ settings_of.value }} IS NOT NULL
