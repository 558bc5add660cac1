{CALL {{ object("Retain_" ~ queue ~ "_trx") }} (?, ?)}
