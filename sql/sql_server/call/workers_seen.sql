{CALL {{ object("QueueWorkersSeen") }} (?, ?, ?, ?)}
