SELECT * FROM {{ object("renew_" ~ queue ~ "_set_trx") }}(?::text, ?::json, ?::integer)
