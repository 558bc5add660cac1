SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = ?::text AND a.val_int IS NOT NULL
