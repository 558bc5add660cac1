SELECT TOP (20) r.[Key], CONCAT(r.[Doing], N': ', r.[Reason]) AS [Reason], r.[Times]
FROM {{ object("QueueRefused") }} AS r
WHERE r.[Queue] = ? AND r.[Doing] <> 'pause'
ORDER BY r.[Since]
