    SELECT
        @_MaxAttempts = s.[MaxAttempts],
        @_SilentMs = s.[LeaseMs]{{ ",\n        @_ErrorChars = s.[ErrorChars]" if role.error and not own }}
    FROM {{ object(queue ~ "_Setting_V") }} AS s;
