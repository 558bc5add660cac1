SELECT * FROM {{ object("purge_" ~ queue ~ "_trx") }}(?::json, ?::integer)
