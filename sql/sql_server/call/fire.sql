{CALL {{ object("Fire_" ~ queue ~ "_trx") }} (?, ?, ?, ?)}
