SELECT n.* FROM {{ object("taken_" ~ queue ~ "_trx") }}(?::text, ?::text) AS n
