/* A function or procedure that works on one item, in the transaction that has claimed it. */
{{ "CALL " if is_called else "SELECT m.* FROM " }}{{ procedure }}(
{%- include "part/foreign_arguments.sql" %}
){{ " AS m" if not is_called }}
