EXISTS (
    SELECT 1 FROM {{ object("QueueOwnType_V") }} AS a
    WHERE a.[Queue] = '{{ queue }}' AND a.[Type] IN ({{ item.plain(t, "q." ~ role.kind) if role.kind else text(types[0]) }}, N'*')
)
