//! A first description of a table that was found, as TOML: with comments where a person must decide.

use super::known::System;
use super::meaning::{self, Role};
use super::table::{Column, Table};
use crate::description::{EXAMPLES, OTHERS, QueueSpec};
use crate::dialect::Dialect;
use crate::item::ItemState;

/// The description, or the reason why there is none.
pub(super) fn description(dialect: Dialect, table: &Table, system: Option<&System>) -> Result<String, String> {
    if let Some(text) = system.and_then(|system| system.spec).and_then(|spec| known(dialect, spec)) {
        return Ok(renamed(dialect, text, table));
    }
    let text = inferred(dialect, table, true)?;
    if QueueSpec::from_text(&text).is_ok() {
        return Ok(text);
    }
    // A column that no description takes: a consumer needs none of them.
    let text = inferred(dialect, table, false)?;
    QueueSpec::from_text(&text).map(|_| text).map_err(|error| error.message().to_owned())
}

/// The description of this name that comes with readpast; some software has another on each server.
fn known(dialect: Dialect, spec: &str) -> Option<&'static str> {
    let of_server = match dialect {
        Dialect::SqlServer => format!("{spec}_sql_server"),
        Dialect::Postgres => format!("{spec}_postgres"),
    };
    let mut known = EXAMPLES.iter().chain(OTHERS);
    known.find(|(name, _)| *name == spec || *name == of_server).map(|(_, text)| *text)
}

/// The same with the table that was found in its place.
fn renamed(dialect: Dialect, text: &str, table: &Table) -> String {
    let (schema, name) = (quoted(&written(dialect, &table.schema)), quoted(&written(dialect, &table.name)));
    let Some((before, after)) = text.split_once("[table]\n") else { return text.to_owned() };
    let is_name = |line: &&str| line.starts_with("schema = ") || line.starts_with("name = ");
    let after: Vec<_> = after.lines().skip_while(is_name).collect();
    format!("{before}[table]\nschema = {schema}\nname = {name}\n{}\n", after.join("\n"))
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name in a description: with its quotes where PostgreSQL needs them.
fn written(dialect: Dialect, name: &str) -> String {
    let mut plain = name.chars().map(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    if dialect == Dialect::SqlServer || plain.all(|is| is) { name.to_owned() } else { format!("\"{name}\"") }
}

/// A key of TOML.
fn key(dialect: Dialect, name: &str) -> String {
    let written = written(dialect, name);
    let bare = written.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { written } else { quoted(&written) }
}

fn queue_name(table: &Table) -> String {
    let mut name = String::new();
    let mut begins = true;
    for c in table.name.chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
        } else if name.len() < 30 && !(name.is_empty() && c.is_ascii_digit()) {
            name.push(if begins { c.to_ascii_uppercase() } else { c });
            begins = false;
        }
    }
    if name.is_empty() { "Found".to_owned() } else { name }
}

/// The type of a column in a description.
fn kind(column: &Column, is_key: bool) -> Option<String> {
    let text = |most: i64| (1..=4000).contains(&most).then(|| format!("text({most})"));
    Some(match column.kind.as_str() {
        "int4" | "int" | "int2" | "smallint" | "tinyint" => "integer".to_owned(),
        "int8" | "bigint" => "bigint".to_owned(),
        "uuid" | "uniqueidentifier" => "guid".to_owned(),
        _ if column.is_text() => match text(column.length) {
            Some(text) => text,
            None if is_key => "text(400)".to_owned(),
            None => "text".to_owned(),
        },
        _ if column.is_time() => "timestamp".to_owned(),
        // PostgreSQL has both in one number; what the other server has, adopt says.
        "numeric" | "decimal" if is_key && column.length >= 1 << 16 => {
            format!("decimal({}, {})", column.length >> 16, column.length & 2047)
        }
        "numeric" | "decimal" if is_key => "decimal(38, 0)".to_owned(),
        "bytea" | "binary" | "varbinary" if is_key && (1..=900).contains(&column.length) => {
            format!("binary({})", column.length)
        }
        "bytea" | "binary" | "varbinary" if is_key => "binary(900)".to_owned(),
        _ if is_key => return None,
        "bool" | "bit" => "boolean".to_owned(),
        "float4" | "float8" | "real" | "float" => "float".to_owned(),
        "date" => "date".to_owned(),
        "json" | "jsonb" => "json".to_owned(),
        "bytea" | "varbinary" | "image" => "binary".to_owned(),
        _ => return None,
    })
}

fn inferred(dialect: Dialect, table: &Table, with_columns: bool) -> Result<String, String> {
    let mut keys: Vec<_> = table.columns.iter().filter(|column| column.key_place > 0).collect();
    keys.sort_by_key(|column| column.key_place);
    if keys.is_empty() {
        return Err("it has no primary key, by which an item could be named".to_owned());
    }
    let state = table.state();
    let mut roles: Vec<(Role, &Column)> =
        Role::ALL.into_iter().filter_map(|role| Some((role, table.role(role)?))).collect();
    // A deadline is taken away when a claim ends.
    roles.retain(|(role, column)| *role != Role::LeaseUntil || column.nullable);
    let states = states(dialect, state, &mut roles);
    let mut key_list = Vec::new();
    for column in &keys {
        let Some(kind) = kind(column, true) else {
            return Err(format!("its key {} is {}, which no description takes", column.name, column.kind));
        };
        let from = if column.numbered { "table" } else { "producer" };
        let name = quoted(&written(dialect, &column.name));
        let stored = match (dialect, column.kind.as_str()) {
            (Dialect::SqlServer, "varchar") => ", stored = \"varchar\"",
            (Dialect::SqlServer, "char") | (Dialect::Postgres, "bpchar") => ", stored = \"char\"",
            _ => "",
        };
        key_list.push(format!("{{ name = {name}, type = {kind:?}, source = {from:?}{stored} }}"));
    }

    let mut out =
        "# Found by readpast discover. Read it, decide where it says DECIDE, and try it: readpast adopt FILE\n"
            .to_owned();
    out += &format!("queue = {}\n", quoted(&queue_name(table)));
    let taken = |column: &Column| {
        column.key_place > 0
            || state.is_some_and(|state| state.name == column.name)
            || roles.iter().any(|(_, other)| other.name == column.name)
    };
    let mut left = Vec::new();
    out += "columns = [\n";
    for column in table.columns.iter().filter(|column| !taken(column) && !column.computed) {
        let is_word = column.name.starts_with(|c: char| c.is_ascii_alphabetic())
            && column.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !["type", "step"].contains(&column.name.to_lowercase().as_str());
        // The table's default fills it, without a producer.
        let filled = !column.nullable && column.default.is_some();
        match kind(column, false).filter(|_| is_word && !filled && with_columns) {
            Some(kind) => {
                let must = if column.nullable { "" } else { ", nullable = false" };
                out +=
                    &format!("    {{ name = {}, type = {kind:?}{must} }},\n", quoted(&written(dialect, &column.name)));
            }
            None => left.push(column.name.as_str()),
        }
    }
    out += "]\n";
    if !left.is_empty() {
        out += &format!(
            "# Not described, and left to the table's defaults: {}\n",
            left.join(", ").replace(['\r', '\n'], " ")
        );
    }
    out += &states.before;
    out += &format!("\n[table]\nschema = {}\n", quoted(&written(dialect, &table.schema)));
    out += &format!("name = {}\nkey = [{}]\n", quoted(&written(dialect, &table.name)), key_list.join(", "));
    if !roles.is_empty() {
        let roles: Vec<_> = roles
            .iter()
            .map(|(role, column)| format!("{} = {}", role.key(), quoted(&written(dialect, &column.name))))
            .collect();
        out += &format!("lifecycle = {{ {} }}\n", roles.join(", "));
    }
    let shared = ["queue", "queue_name", "queuename", "tenant", "tenant_id", "owner_id", "node"];
    if let Some(column) = table.columns.iter().find(|c| shared.contains(&c.name.to_lowercase().as_str()) && !taken(c)) {
        out += &format!(
            "# DECIDE: does each row belong to this queue? If not: where = {{ {} = ... }}\n",
            key(dialect, &column.name)
        );
    }
    out += &states.within;
    Ok(out)
}

/// How the table shows the states: lines before `[table]`, and in it.
struct States {
    before: String,
    within: String,
}

fn states(dialect: Dialect, state: Option<&Column>, roles: &mut Vec<(Role, &Column)>) -> States {
    let Some(column) = state else { return by_nulls(dialect, roles) };
    let name = key(dialect, &column.name);
    if column.is_flag() {
        let within = format!(
            "# DECIDE: {} is true from the claim on, so that no other program takes the row; is that right?\n\
             states = {{ Pending = {{ {name} = false }}, Processing = {{ {name} = true }}, Completed = {{ {name} = true }} }}\n",
            column.name
        );
        return States { before: String::new(), within };
    }
    let mut values: Vec<(ItemState, Vec<String>)> = Vec::new();
    let mut unknown = Vec::new();
    let literal = |value: &str| {
        if column.is_whole() { value.parse::<i64>().ok().map(|number| number.to_string()) } else { Some(quoted(value)) }
    };
    for value in &column.values {
        match (meaning::state(value), literal(value)) {
            (Some(state), Some(literal)) => match values.iter_mut().find(|(known, _)| *known == state) {
                Some((_, list)) => list.push(literal),
                None => values.push((state, vec![literal])),
            },
            (None, Some(literal)) => unknown.push(literal),
            _ => {}
        }
    }
    // A new row has the default.
    let default = column.default.as_deref().and_then(constant).and_then(|value| literal(&value));
    let mut notes = String::new();
    let has = |values: &[(ItemState, Vec<String>)], state| values.iter().any(|(known, _)| *known == state);
    if let Some(default) = default {
        match values.iter_mut().find(|(state, _)| *state == ItemState::Pending) {
            // The first is written.
            Some((_, list)) => {
                list.retain(|value| *value != default);
                list.insert(0, default.clone());
            }
            None => values.push((ItemState::Pending, vec![default.clone()])),
        }
        for (state, list) in &mut values {
            if *state != ItemState::Pending {
                list.retain(|value| *value != default);
            }
        }
        values.retain(|(_, list)| !list.is_empty());
        unknown.retain(|value| *value != default);
    }
    for (place, (state, word)) in
        [(ItemState::Pending, "pending"), (ItemState::Processing, "processing"), (ItemState::Completed, "completed")]
            .into_iter()
            .enumerate()
    {
        if has(&values, state) {
            continue;
        }
        let used: Vec<String> = values.iter().flat_map(|(_, list)| list.clone()).collect();
        let guess = if column.is_whole() {
            (0..).map(|n: usize| (n + place).to_string()).find(|number| !used.contains(number)).unwrap_or_default()
        } else {
            unknown.iter().find(|value| !used.contains(value)).cloned().unwrap_or_else(|| quoted(word))
        };
        unknown.retain(|value| *value != guess);
        notes += &format!("# DECIDE: {guess} is a guess for {state}\n");
        values.push((state, vec![guess]));
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ").replace(['\r', '\n'], " ");
        notes += &format!("# DECIDE: what do these values mean? They are left alone: {unknown}\n");
    }
    values.sort_by_key(|(state, _)| ItemState::ALL.iter().position(|other| other == state));
    let mut within = format!("{notes}\n[table.states]\n");
    for (state, list) in values {
        let value = if let [one] = list.as_slice() { one.clone() } else { format!("[{}]", list.join(", ")) };
        within += &format!("{state} = {{ {name} = {value} }}\n");
    }
    States { before: String::new(), within }
}

/// States that NULLs show, or none: then a row is there as long as its work is not done.
fn by_nulls(dialect: Dialect, roles: &mut Vec<(Role, &Column)>) -> States {
    let of = |role| {
        roles.iter().find(|(other, column)| *other == role && column.nullable).map(|(_, c)| key(dialect, &c.name))
    };
    let taken = of(Role::Started).or_else(|| of(Role::Owner));
    let (Some(taken), done) = (taken, of(Role::Finished)) else {
        // Times of a table without a claim would stay as they are.
        roles.retain(|(role, _)| *role != Role::Finished);
        return States {
            before:
                "# DECIDE: is a row there as long as its work is not done, and deleted then?\ncompletion = \"delete\"\n"
                    .to_owned(),
            within: String::new(),
        };
    };
    let (null, set) = ("{ is = \"null\" }", "{ is = \"set\" }");
    match done {
        Some(done) => States {
            before: String::new(),
            within: format!(
                "\n[table.states]\nPending = {{ {taken} = {null}, {done} = {null} }}\nProcessing = {{ {taken} = {set}, {done} = {null} }}\n\
                 Completed = {{ {done} = {set} }}\n"
            ),
        },
        None => States {
            before: "# DECIDE: is a row deleted when its work is done?\ncompletion = \"delete\"\n".to_owned(),
            within: format!("\n[table.states]\nPending = {{ {taken} = {null} }}\nProcessing = {{ {taken} = {set} }}\n"),
        },
    }
}

/// The constant of a default: without casts, quotes and parentheses around it.
fn constant(default: &str) -> Option<String> {
    let bare = default.split("::").next().unwrap_or(default).trim().trim_matches(['(', ')']).trim();
    let text = bare.strip_prefix('N').unwrap_or(bare);
    match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(text) => Some(text.replace("''", "'")),
        None => bare.parse::<i64>().ok().map(|number| number.to_string()),
    }
}
