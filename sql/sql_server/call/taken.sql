{CALL {{ object("Taken_" ~ queue ~ "_trx") }} (?, ?)}
