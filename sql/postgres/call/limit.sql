SELECT {{ object("limit_" ~ queue ~ "_trx") }}(?::text, ?::text, ?::integer, ?::integer, ?::bigint, ?::integer, ?::text::timestamptz, ?::bigint, ?::text, ?::text)
