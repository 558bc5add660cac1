SELECT r.* FROM {{ object("taken_" ~ queue ~ "_trx") }}(?::text, ?::text) AS r
