{CALL {{ object("QueueWorkerSeen") }} (?, ?, ?, ?, ?)}
