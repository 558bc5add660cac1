//! Names: a batch is one scope of variables, a case-sensitive server distinguishes `@now` from `@Now`, and a column is declared once.

use super::Finding;
use super::text::{self, Batch, Kind, Token};
use readpast::Dialect;
use readpast::description::QueueSpec;
use readpast::ident::Identifier;
use readpast::render;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn variables_are_declared_once(batch: &Batch, found: &mut Vec<Finding>) {
    let mut declared: BTreeMap<String, String> = BTreeMap::new();
    let parameters = if batch.is_procedure() || batch.object.starts_with("FUNCTION") {
        batch.tokens.iter().position(|token| token.is("AS") || token.is("RETURNS")).unwrap_or(0)
    } else {
        0
    };
    let mut depth = 0;
    let mut declares = parameters > 0;
    let mut may_begin = true;
    for (at, token) in batch.tokens.iter().enumerate() {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        let is_parameter = at < parameters;
        if token.is("DECLARE") {
            (declares, may_begin, depth) = (true, true, 0);
        } else if token.is(";") || at == parameters {
            declares = false;
        } else if token.is(",") && (depth == 0 || is_parameter && depth <= 1) {
            may_begin = true;
        } else if token.kind == Kind::Variable && declares && may_begin {
            may_begin = false;
            if declared.insert(token.text.to_lowercase(), token.text.clone()).is_some() {
                let detail = token.text.clone();
                found.push(Finding { detail, ..Finding::new("variable-declared-twice", batch, token.line) });
            }
        }
    }
    for token in batch.tokens.iter().filter(|token| token.kind == Kind::Variable) {
        if declared.get(&token.text.to_lowercase()).is_some_and(|name| *name != token.text) {
            found.push(Finding::new("variable-in-another-case", batch, token.line));
        }
    }
}

/// The columns of a table, and of a variable that is one.
pub fn columns_are_declared_once(batch: &Batch, found: &mut Vec<Finding>) {
    for (at, _) in batch.tokens.iter().enumerate().filter(|(_, token)| token.is("TABLE")) {
        let is_name = |token: &&Token| token.is_name() || token.is(".");
        let list = at + 1 + batch.tokens[at + 1..].iter().take_while(is_name).count();
        if !batch.tokens.get(list).is_some_and(|token| token.is("(")) {
            continue;
        }
        let mut declared: BTreeSet<String> = BTreeSet::new();
        let (mut depth, mut begins) = (1, true);
        for token in &batch.tokens[list + 1..] {
            if begins && token.is_name() && !declared.insert(token.text.to_lowercase()) {
                let detail = token.text.clone();
                found.push(Finding { detail, ..Finding::new("column-declared-twice", batch, token.line) });
            }
            depth += i32::from(token.is("(")) - i32::from(token.is(")"));
            begins = depth == 1 && token.is(",");
            if depth == 0 {
                break;
            }
        }
    }
}

/// Columns that users may have, and whose name, or that of their parameter, is one of ours. All names that stand in our SQL are
/// tried as columns, those that a description may have, on each kind of table and as a key; and as subtypes.
pub fn columns_that_collide(specs: &[(String, QueueSpec)], schema: &Identifier, found: &mut Vec<Finding>) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (_, spec) in specs {
        let script = render::script(Dialect::SqlServer, schema, Some(spec)).unwrap();
        for token in text::tokens(&script.replace("\nGO\n", "\n"), 1) {
            let is_variable = token.kind == Kind::Variable && !token.text.starts_with("@@");
            if is_variable || token.is_name() {
                let name = token.text.trim_start_matches('@').to_owned();
                names.insert(name.to_lowercase(), name);
            }
        }
    }
    for name in ["Number", "Now", "Tries", "Items", "Key", "Place", "First"] {
        names.entry(name.to_lowercase()).or_insert_with(|| name.to_owned());
    }
    let columns = |names: &[&String], more: &Value| -> Vec<Value> {
        let column = |name| {
            let mut column = json!({"name": name, "type": "text(40)"});
            column.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            column
        };
        names.iter().map(column).collect()
    };
    let table = |key: Value| {
        json!({"name": "any_table", "create": true, "key": key, "status": {"column": "state_of_it",
            "values": {"Pending": 0, "Processing": 1, "Completed": 2}}})
    };
    let plain = |names: &[&String]| json!({"queue": "Job", "types": ["A"], "columns": columns(names, &json!({}))});
    let of_a_set = |names: &[&String]| {
        let mut spec = plain(names);
        spec["dedup"] = json!({"columns": names});
        spec["subtypes"] = json!([{"name": "ExtraPart", "columns": columns(names, &json!({}))}]);
        spec
    };
    let adopted = |names: &[&String]| {
        let mut spec = plain(names);
        spec["dedup"] = json!({"columns": names});
        spec["table"] = table(json!(["id_of_it"]));
        spec
    };
    let key = |names: &[&String]| json!({"queue": "Job", "columns": [], "table": table(json!(columns(names, &json!({"source": "producer"}))))});
    let as_subtypes = |names: &[&String]| {
        let subtype =
            |(number, name)| json!({"name": name, "columns": [{"name": format!("Z{number}"), "type": "integer"}]});
        json!({"queue": "Job", "types": ["A"], "subtypes": names.iter().enumerate().map(subtype).collect::<Vec<_>>()})
    };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    type Describe<'a> = &'a dyn Fn(&[&String]) -> Value;
    let kinds: [(usize, Describe<'_>); 5] =
        [(60, &plain), (60, &of_a_set), (60, &adopted), (10, &key), (60, &as_subtypes)];
    for (size, describe) in kinds {
        let read = |names: &[&String]| QueueSpec::from_text(&describe(names).to_string());
        // A name of ours that nobody may take is refused by the description.
        let accepted: Vec<_> = names.values().filter(|name| read(&[name]).is_ok()).collect();
        assert!(accepted.len() > 50, "{accepted:?}");
        for accepted in accepted.chunks(size) {
            let script = render::script(Dialect::SqlServer, schema, Some(&read(accepted).unwrap())).unwrap();
            let mut twice = Vec::new();
            for batch in text::batches(&script, "Job") {
                variables_are_declared_once(&batch, &mut twice);
                columns_are_declared_once(&batch, &mut twice);
            }
            taken.extend(twice.into_iter().map(|finding| finding.detail.trim_start_matches('@').to_owned()));
        }
    }
    found.extend(taken.into_iter().map(|object| Finding {
        rule: "column-with-a-name-of-ours",
        object,
        line: 0,
        detail: String::new(),
    }));
}
