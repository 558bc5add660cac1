/* Whether the server runs on the machine of this client; NULL where it does not show its addresses. */
SELECT
    CASE
        WHEN a.[Client] = N'<local machine>' OR a.[Client] = a.[Server] THEN 1
        WHEN a.[Client] <> a.[Server] THEN 0
    END AS [Near]
FROM (
    SELECT
        CONVERT(nvarchar(48), CONNECTIONPROPERTY('client_net_address')) AS [Client],
        NULLIF(CONVERT(nvarchar(48), CONNECTIONPROPERTY('local_net_address')), N'') AS [Server]
) AS a
