//! The place of a queue, and the statement that enqueues there.

/// A queue: its server, its schema and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    schema: String,
    name: String,
    is_sql_server: bool,
}

impl Queue {
    /// A queue on PostgreSQL, in the schema `readpast`.
    #[must_use]
    pub fn postgres(name: &str) -> Self {
        Self { schema: "readpast".to_owned(), name: name.to_owned(), is_sql_server: false }
    }

    /// A queue on SQL Server, in the schema `readpast`.
    #[must_use]
    pub fn sql_server(name: &str) -> Self {
        Self { is_sql_server: true, ..Self::postgres(name) }
    }

    /// The queue of the same name in another schema.
    #[must_use]
    pub fn in_schema(self, schema: &str) -> Self {
        Self { schema: schema.to_owned(), ..self }
    }

    /// The statement; items and operation are its parameters. On PostgreSQL it returns answer, ordinal and key, on SQL Server these
    /// as first, second and fourth column.
    pub(crate) fn statement(&self) -> String {
        if self.is_sql_server {
            let procedure = quoted(&format!("Add_{}_Set_utx", self.name), '[', ']');
            return format!("EXECUTE {}.{procedure} @Items = @P1, @Operation = @P2", quoted(&self.schema, '[', ']'));
        }
        let function = quoted(&format!("add_{}_set_utx", snake_case(&self.name)), '"', '"');
        // A key of readpast's own is a time, which the library writes in UTC with seven digits; any other is text.
        format!(
            "SELECT answer, answer_ordinal, CASE WHEN pg_typeof(answer_key) = 'timestamptz'::regtype \
             THEN to_char(answer_key::text::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' \
             ELSE answer_key::text END FROM {}.{function}($1::text::json, $2::text::uuid)",
            quoted(&self.schema, '"', '"')
        )
    }
}

fn quoted(name: &str, begin: char, end: char) -> String {
    format!("{begin}{}{end}", name.replace(end, &format!("{end}{end}")))
}

/// As the library names functions: `PasswordReset` is `password_reset`, `SMSOut` `sms_out`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let is_new_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                let ends_acronym =
                    before.is_ascii_uppercase() && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
                before.is_ascii_lowercase() || before.is_ascii_digit() || ends_acronym
            });
        if is_new_word {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_library() {
        for (name, snake) in [
            ("Mail", "mail"),
            ("PasswordReset", "password_reset"),
            ("SMSOut", "sms_out"),
            ("SyncQueue2Out", "sync_queue2_out"),
            ("mail_2", "mail_2"),
            ("ABC", "abc"),
        ] {
            assert_eq!(snake_case(name), snake);
        }
        let text = Queue::sql_server("Mail").in_schema("a]b").statement();
        assert_eq!(text, "EXECUTE [a]]b].[Add_Mail_Set_utx] @Items = @P1, @Operation = @P2");
        let text = Queue::postgres("Mail").in_schema("a\"b").statement();
        assert!(text.ends_with("\"a\"\"b\".\"add_mail_set_utx\"($1::text::json, $2::text::uuid)"), "{text}");
    }
}
