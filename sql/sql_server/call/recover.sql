{CALL {{ object("Recover_" ~ queue ~ "_trx") }} (?, ?)}
