SELECT * FROM {{ object("fire_" ~ queue ~ "_trx") }}(?::text, ?::text::timestamptz, ?::text::timestamptz, ?::integer = 1)
