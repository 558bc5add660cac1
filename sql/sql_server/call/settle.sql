{CALL {{ object("Modify_" ~ queue ~ "_Set_trx") }} (?, ?, ?, ?, ?, ?{{ ", ?" if run_time }})}
