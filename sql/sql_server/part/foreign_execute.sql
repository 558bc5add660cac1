EXECUTE @Returned = {{ procedure }}{% for a in arguments %}
    {{ a.name }} = @A{{ loop.index }}{{ "," if not loop.last }}{% endfor %};
SELECT @Returned AS [Returned];
