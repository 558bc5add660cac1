EXISTS (
    SELECT 1 FROM {{ object("QueueOwnType_V") }} AS a
    WHERE a.[Queue] = '{{ queue }}' AND a.[Type] IN (y.[Type], N'*')
)
