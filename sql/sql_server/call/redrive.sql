{CALL {{ object("Redrive_" ~ queue ~ "_Set_trx") }} (?, ?)}
