{CALL {{ object("Next_" ~ queue ~ "_Set_trx") }} (?, ?, ?, ?{{ ", ?" if run_time }})}
