DECLARE @Names nvarchar(max) = ?;
{%- set into = ["", "", ""] %}
{% include "script/_owners.sql" %};
