EXISTS (
    SELECT 1 FROM {{ object("QueueTypeAccess") }} AS a
    WHERE a.[Queue] = '{{ queue }}' AND a.[Type] = q.{{ role.kind }} AND a.[UserName] IN (ORIGINAL_LOGIN(), USER_NAME())
)
