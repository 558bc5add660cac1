/* Whether the server runs on the machine of this client. */
SELECT CASE WHEN COALESCE(HOST(INET_SERVER_ADDR()) = HOST(INET_CLIENT_ADDR()), TRUE) THEN 1 ELSE 0 END AS near
