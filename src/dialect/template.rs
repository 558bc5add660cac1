//! The SQL files as templates. Names and text enter them quoted; nothing else does.

use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QuoteStyle};
use minijinja::{Environment, ErrorKind as TemplateError, State, UndefinedBehavior};

/// The files of one dialect.
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// Takes in `files`, pairs of a name and its text.
    pub(super) fn new(files: &[(&'static str, &'static str)], style: QuoteStyle, text_prefix: &'static str) -> Self {
        let mut environment = Environment::new();
        // A placeholder that nothing fills is an error, not an empty string.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_function("object", move |state: &State<'_, '_>, name: &str| qualified(state, style, name));
        environment.add_function("literal", move |state: &State<'_, '_>, name: &str| {
            qualified(state, style, name).map(|name| format!("{text_prefix}'{}'", name.replace('\'', "''")))
        });
        environment.add_function("text", move |value: &str| text_literal(text_prefix, value));
        for (name, text) in files {
            // The files are compiled in and every one is rendered by a test: this cannot fail in a release.
            if let Err(error) = environment.add_template(name, text) {
                debug_assert!(false, "{name}: {error:#}");
            }
        }
        Self { environment }
    }

    /// The file `name` with its placeholders filled from `context`.
    pub(super) fn render(&self, name: &str, context: minijinja::Value) -> Result<String> {
        self.environment.get_template(name).and_then(|template| template.render(context)).map_err(|error| {
            let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
            let causes: String = causes.map(|cause| format!(": {cause:#}")).collect();
            Error::new(ErrorKind::Protocol, format!("the SQL file {name} cannot be rendered: {error:#}{causes}"))
        })
    }
}

/// `value` as a text literal. Bodies of PostgreSQL's functions stand between double dollar signs, which no text may end:
/// there they are escaped. (Names with them are refused: see `ident`.)
pub(super) fn text_literal(prefix: &str, value: &str) -> String {
    let doubled = value.replace('\'', "''");
    if prefix.is_empty() && value.contains("$$") {
        return format!("U&'{}'", doubled.replace('\\', "\\\\").replace('$', "\\0024"));
    }
    format!("{prefix}'{doubled}'")
}

fn qualified(state: &State<'_, '_>, style: QuoteStyle, name: &str) -> Result<String, minijinja::Error> {
    let schema = state.lookup("schema").filter(|value| !value.is_undefined());
    let schema = schema.ok_or_else(|| minijinja::Error::new(TemplateError::UndefinedError, "schema"))?;
    let name = Identifier::new("an object's name", name)
        .map_err(|error| minijinja::Error::new(TemplateError::InvalidOperation, error.message().to_owned()))?;
    Ok(format!("{schema}.{}", name.quoted(style)))
}
