{#- How much may begin now: max_ becomes no more than that. #}
    SELECT r.* INTO room_ FROM {{ object("room_" ~ queue) }}(max_, now_, FALSE) AS r;
    max_ := room_.most;
