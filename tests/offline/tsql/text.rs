//! Rendered T-SQL as tokens, statements and batches. No parser: it serves rules on scripts of our own, in which
//! every name is in brackets and every statement ends with a semicolon.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A keyword, a function, a type; in upper case.
    Word,
    /// A name that stood in brackets.
    Name,
    /// With its `@`.
    Variable,
    /// A literal, `true` if it is an `N'...'`.
    Text(bool),
    Number,
    Symbol,
}

#[derive(Debug, Clone)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
    pub line: usize,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Symbol) && self.text == text
    }

    pub fn is_name(&self) -> bool {
        self.kind == Kind::Name
    }
}

/// The text that one GO sends.
pub struct Batch {
    pub tokens: Vec<Token>,
    /// Kind and name of what it creates, the queue's name in it as Q: `PROCEDURE Next_Q_trx`.
    pub object: String,
}

impl Batch {
    pub fn is_procedure(&self) -> bool {
        self.object.starts_with("PROCEDURE")
    }

    /// The statements, without their semicolons. What stands before one without a semicolon of its own (IF, BEGIN) is part of
    /// it.
    pub fn statements(&self) -> impl Iterator<Item = &[Token]> {
        self.tokens.split(|token| token.is(";")).filter(|tokens| !tokens.is_empty())
    }
}

pub fn batches(script: &str, queue: &str) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut text = String::new();
    let mut first = 1;
    for (number, line) in script.lines().chain(["GO"]).enumerate() {
        if line == "GO" {
            let tokens = tokens(&text, first);
            if !tokens.is_empty() {
                let object = object(&tokens, queue);
                batches.push(Batch { tokens, object });
            }
            text.clear();
            first = number + 2;
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    batches
}

fn object(tokens: &[Token], queue: &str) -> String {
    const KINDS: [&str; 8] = ["PROCEDURE", "VIEW", "FUNCTION", "TABLE", "INDEX", "SEQUENCE", "TYPE", "TRIGGER"];
    let create = tokens.iter().position(|token| token.is("CREATE"));
    let rest = create.map_or(&[][..], |at| &tokens[at..]);
    let kind = rest.iter().position(|token| KINDS.iter().any(|kind| token.is(kind)));
    let Some(at) = kind else { return "script".to_owned() };
    let names: Vec<_> = rest[at + 1..].iter().take_while(|token| token.is_name() || token.is(".")).collect();
    let name = names.last().map_or("?", |token| token.text.as_str());
    format!("{} {}", rest[at].text, name.replace(queue, "Q"))
}

pub fn tokens(text: &str, first_line: usize) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = text;
    let mut line = first_line;
    while let Some(c) = rest.chars().next() {
        let (kind, length) = if c.is_whitespace() {
            (None, c.len_utf8())
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").expect("a comment ends") + 2)
        } else if rest.starts_with("--") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if c == '[' {
            (Some(Kind::Name), quoted(rest, ']'))
        } else if c == '\'' || rest.starts_with("N'") {
            let prefix = usize::from(c == 'N');
            (Some(Kind::Text(prefix == 1)), prefix + quoted(&rest[prefix..], '\''))
        } else if c == '@' {
            (Some(Kind::Variable), word(rest))
        } else if c.is_ascii_digit() {
            (Some(Kind::Number), word(rest))
        } else if c.is_alphabetic() || c == '_' || c == '#' {
            (Some(Kind::Word), word(rest))
        } else {
            (Some(Kind::Symbol), c.len_utf8())
        };
        let text = &rest[..length];
        if let Some(kind) = kind {
            let text = match kind {
                Kind::Word => text.to_uppercase(),
                Kind::Name => text[1..length - 1].replace("]]", "]"),
                Kind::Text(is_wide) => text[usize::from(is_wide) + 1..length - 1].replace("''", "'"),
                _ => text.to_owned(),
            };
            out.push(Token { kind, text, line });
        }
        line += text.matches('\n').count();
        rest = &rest[length..];
    }
    out
}

fn word(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The length of what begins with a quote and ends with `end`, which is doubled inside.
fn quoted(text: &str, end: char) -> usize {
    let mut at = 1;
    loop {
        at += text[at..].find(end).expect("a quote ends") + 1;
        if !text[at..].starts_with(end) {
            return at;
        }
        at += 1;
    }
}

/// The index behind the parenthesis that closes the one at `open`.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Whether `words` follow one another from `at` on.
pub fn follow(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(i, word)| tokens.get(at + i).is_some_and(|token| token.is(word)))
}
