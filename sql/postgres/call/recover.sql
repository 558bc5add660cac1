SELECT r.* FROM {{ object("recover_" ~ queue ~ "_trx") }}(?::integer, recover_ => ?::integer) AS r
