
    f_ record;
    keys_ {{ m.key_given() }}[];
{%- include "part/key_variables.sql" %}