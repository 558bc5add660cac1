//! The SQL files as templates. Names and text enter them quoted; nothing else does.

use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QuoteStyle};
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, ErrorKind as TemplateError, State, UndefinedBehavior};

/// A statement of a file, with its object: `{% filter made("VIEW", name) %}` stands before its text, `{% filter statement %}`
/// before one that makes no named object.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// `VIEW`, say; `None` of one that makes no named object.
    pub(crate) kind: Option<String>,
    /// The name of its object: a text when that is in the schema of readpast's own objects.
    pub(crate) name: Value,
    /// Further attributes: the table of an index, say.
    pub(crate) attributes: Value,
    pub(crate) text: String,
}

/// The statements of a file, as far as it is rendered.
#[derive(Default)]
struct Statements(Vec<Statement>);

/// The files of one dialect.
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// Adds `files`, pairs of a name and its text.
    pub(super) fn new(files: &[(&'static str, &'static str)], style: QuoteStyle, text_prefix: &'static str) -> Self {
        let mut environment = Environment::new();
        // An unfilled placeholder is an error, not an empty string.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_function("object", move |state: &State<'_, '_>, name: &str| qualified(state, style, name));
        environment.add_function("literal", move |state: &State<'_, '_>, name: &str| {
            qualified(state, style, name).map(|name| format!("{text_prefix}'{}'", name.replace('\'', "''")))
        });
        environment.add_function("text", move |value: &str| text_literal(text_prefix, value));
        // A column of ours, of an index.
        environment.add_function("column", move |name: &str| -> Result<Value, minijinja::Error> {
            let quoted = match style {
                QuoteStyle::Brackets => identifier(name)?.quoted(style),
                // Our names need no quotes there.
                QuoteStyle::DoubleQuotes => name.to_owned(),
            };
            Ok(minijinja::context! { name, quoted, expression => (), descending => false })
        });
        environment.add_filter("listed", listed);
        environment.add_filter("statement", |state: &mut State<'_, '_>, text: &str| {
            put(state, None, Value::UNDEFINED, Value::UNDEFINED, text)
        });
        environment.add_filter(
            "made",
            |state: &mut State<'_, '_>, text: &str, kind: &str, name: Value, attributes: Kwargs| {
                put(state, Some(kind.to_owned()), name, Value::from(attributes), text)
            },
        );
        for (name, text) in files {
            // The files are compiled in and every one is rendered by a test: this cannot fail in a release.
            if let Err(error) = environment.add_template(name, text) {
                debug_assert!(false, "{name}: {error:#}");
            }
        }
        Self { environment }
    }

    /// The file `name` with its placeholders filled from `context`.
    pub(super) fn render(&self, name: &str, context: Value) -> Result<String> {
        let template = self.environment.get_template(name);
        template.and_then(|template| template.render(context)).map_err(|error| render_error(name, &error))
    }

    /// The statements that the file `name` consists of, in their order.
    pub(super) fn statements(&self, name: &str, context: Value) -> Result<Vec<Statement>> {
        let template = self.environment.get_template(name).map_err(|error| render_error(name, &error))?;
        let mut captured = template.render_captured(context).map_err(|error| render_error(name, &error))?;
        if let Some(line) = captured.output().lines().find(|line| !line.trim().is_empty()) {
            let why = format!("the SQL file {name} has text that is in no statement: {}", line.trim());
            return Err(Error::new(ErrorKind::Protocol, why));
        }
        let statements = captured.with_state_mut(|state| state.get_extension_mut::<Statements>().map(std::mem::take));
        Ok(statements.unwrap_or_default().0)
    }
}

/// A list with an element a line, indented by so many blanks: the renderer packs them.
fn listed(list: &str, blanks: usize) -> String {
    let (mut depth, mut quote) = (0_i32, None);
    let mut elements = list.split(|char| {
        match (quote, char) {
            (Some(end), _) if char == end => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(char),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        char == ',' && depth == 0 && quote.is_none()
    });
    let first = elements.next().unwrap_or_default().trim();
    elements.fold(format!("\n{:blanks$}{first}", ""), |lines, element| {
        lines + &format!(",\n{:blanks$}{}", "", element.trim())
    })
}

fn render_error(name: &str, error: &minijinja::Error) -> Error {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: String = causes.map(|cause| format!(": {cause:#}")).collect();
    Error::new(ErrorKind::Protocol, format!("the SQL file {name} cannot be rendered: {error:#}{causes}"))
}

/// Moves a statement out of the text into the list.
fn put(state: &mut State<'_, '_>, kind: Option<String>, name: Value, attributes: Value, text: &str) -> String {
    let statements = state.get_or_insert_extension(Statements::default());
    statements.0.push(Statement { kind, name, attributes, text: text.trim().to_owned() });
    String::new()
}

/// `value` as a text literal. Bodies of PostgreSQL's functions stand between double dollar signs, which no text may end: there
/// they are escaped. (Names with them are refused: see `ident`.)
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
    Ok(format!("{schema}.{}", identifier(name)?.quoted(style)))
}

fn identifier(name: &str) -> Result<Identifier, minijinja::Error> {
    Identifier::new("an object's name", name)
        .map_err(|error| minijinja::Error::new(TemplateError::InvalidOperation, error.message().to_owned()))
}
