{#- One statement: the table has it all. -#}
{% include "part/found_due.sql" %},

{% include "part/claim_found.sql" %}