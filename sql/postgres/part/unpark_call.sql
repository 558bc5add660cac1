
    {{ m.answers_of() }}
        SELECT r.* FROM {{ object("unpark_" ~ queue ~ "_trx") }}(max_attempts_) AS r
    {{ m.pass_on() }}