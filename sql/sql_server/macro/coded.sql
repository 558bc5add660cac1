{#-
Text in a code page: the server writes ? for what that lacks, without an error. So what was written is read again, where anything that
was given is not ASCII: as many UTF-16 units, of which more are ?, have lost some. A value that a trigger has written instead is no loss.
-#}
{%- macro may_lose() -%}
(@Items COLLATE Latin1_General_BIN2 LIKE N'%[^ -~]%' OR CHARINDEX(N'\u', @Items) > 0)
{%- endmacro -%}
{%- macro has_lost(x) -%}
LEN({{ x }}.[Kept]) = LEN({{ x }}.[Given]) AND LEN(REPLACE({{ x }}.[Kept], N'?', N'')) < LEN(REPLACE({{ x }}.[Given], N'?', N''))
{%- endmacro -%}
{%- macro kept(c) -%}CAST(q.{{ c.quoted }} AS nvarchar(max)) COLLATE Latin1_General_BIN2{%- endmacro -%}
{%- macro refuse(procedure) %}
            IF @_Lost IS NOT NULL
            BEGIN
                /* THROW reads a % as the start of something else; doubled, it stands for itself. */
                SET @_Lost = CONCAT(
                    N'{{ procedure }}: ', REPLACE(@_Lost, N'%', N'%%'),
                    N' has letters that the code page of its column lacks, and which it would keep as ?; leave them out, or make it nvarchar.'
                );
                THROW 50021, @_Lost, 1;
            END;
{%- endmacro -%}
