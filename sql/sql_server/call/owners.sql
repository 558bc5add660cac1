DECLARE @Names nvarchar(max) = ?;
{%- set into = ["", "", "", "", ""] %}
{% include "part/owners.sql" %};
