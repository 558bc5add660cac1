{CALL {{ object("Modify_" ~ queue ~ "_Set_utx") }} (?, ?, ?, ?, ?, ?{{ ", ?" if run_time }})}
