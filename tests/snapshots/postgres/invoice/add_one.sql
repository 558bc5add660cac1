/*
Enqueue one item, with the caller's other work. Returns its key and its concurrency token.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_invoice_utx"(
    type_ text DEFAULT 'Default', "Number_" varchar(20) DEFAULT NULL, "CustomerID_" bigint DEFAULT NULL,
    "Amount_" numeric(12, 2) DEFAULT '0', "Code_" varchar(6) DEFAULT 'none', "Lines_" json DEFAULT '[]',
    scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_invoice_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', scheduled_for_, 'step', step_,
            'columns', json_build_object(
                'Number', "Number_", 'CustomerID', "CustomerID_", 'Amount', "Amount_", 'Code', "Code_", 'Lines', "Lines_"
            )
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_invoice_utx"(
    text, varchar(20), bigint, numeric(12, 2), varchar(6), json, timestamptz, text
) FROM public;

/*
Enqueue one item. Returns its key and its concurrency token.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_invoice_trx"(
    type_ text DEFAULT 'Default', "Number_" varchar(20) DEFAULT NULL, "CustomerID_" bigint DEFAULT NULL,
    "Amount_" numeric(12, 2) DEFAULT '0', "Code_" varchar(6) DEFAULT 'none', "Lines_" json DEFAULT '[]',
    scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_invoice_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', scheduled_for_, 'step', step_,
            'columns', json_build_object(
                'Number', "Number_", 'CustomerID', "CustomerID_", 'Amount', "Amount_", 'Code', "Code_", 'Lines', "Lines_"
            )
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_invoice_trx"(
    text, varchar(20), bigint, numeric(12, 2), varchar(6), json, timestamptz, text
) FROM public;
