INSERT INTO {{ object("app_settings") }} (param, val_int)
VALUES (?::text, ?::integer)
ON CONFLICT (param) DO UPDATE
SET val_int = excluded.val_int
