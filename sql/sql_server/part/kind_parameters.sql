{%- if asks_types %},
    /* A JSON array of the types to take; NULL: all of them. */
    @Types nvarchar(max) = NULL{% endif %}{% if asks_steps %},
    /* A JSON array of the steps to take, "" for items that have none; NULL: all of them. */
    @Steps nvarchar(max) = NULL{% endif %}
