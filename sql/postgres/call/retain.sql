SELECT * FROM {{ object("retain_" ~ queue ~ "_trx") }}(?::integer, ?::integer)
