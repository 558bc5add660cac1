//! Variables: a batch is one scope, and a case-sensitive server tells `@now` from `@Now`.

use super::Finding;
use super::text::{self, Batch, Kind};
use readpast::dialect::Dialect;
use readpast::ident::Identifier;
use readpast::spec::QueueSpec;
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

/// Columns that users may have, and whose parameters a variable of ours has the name of. All names that our variables have are
/// tried as columns at once, those that a description may have.
pub fn columns_that_collide(specs: &[(String, QueueSpec)], schema: &Identifier, found: &mut Vec<Finding>) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (_, spec) in specs {
        let script = readpast::render::script(Dialect::SqlServer, schema, Some(spec)).unwrap();
        let tokens = text::tokens(&script.replace("\nGO\n", "\n"), 1);
        for variable in tokens.into_iter().filter(|token| token.kind == Kind::Variable && !token.text.starts_with("@@"))
        {
            let name = variable.text.trim_start_matches('@').to_owned();
            names.insert(name.to_lowercase(), name);
        }
    }
    // As columns of a plain queue, and of one whose single items are added as a set; and as subtypes.
    let as_columns = |names: &[&String]| {
        let columns: Vec<_> = names.iter().map(|name| json!({"name": name, "type": "integer"})).collect();
        json!({"queue": "Job", "types": ["A"], "columns": columns})
    };
    let of_a_set = |names: &[&String]| {
        let mut spec = as_columns(names);
        spec["dedup"] = json!({"columns": [names[0]]});
        spec
    };
    let as_subtypes = |names: &[&String]| {
        let subtype =
            |(number, name)| json!({"name": name, "columns": [{"name": format!("Z{number}"), "type": "integer"}]});
        json!({"queue": "Job", "types": ["A"], "subtypes": names.iter().enumerate().map(subtype).collect::<Vec<_>>()})
    };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for describe in [&as_columns as &dyn Fn(&[&String]) -> Value, &of_a_set, &as_subtypes] {
        let read = |names: &[&String]| QueueSpec::from_text(&describe(names).to_string());
        let accepted: Vec<_> = names.values().filter(|name| read(&[name]).is_ok()).collect();
        assert!(accepted.len() > 20, "{accepted:?}");
        let script = readpast::render::script(Dialect::SqlServer, schema, Some(&read(&accepted).unwrap())).unwrap();
        let mut twice = Vec::new();
        text::batches(&script, "Job").iter().for_each(|batch| variables_are_declared_once(batch, &mut twice));
        taken.extend(twice.into_iter().map(|finding| finding.detail.trim_start_matches('@').to_owned()));
    }
    found.extend(taken.into_iter().map(|object| Finding {
        rule: "column-with-the-name-of-a-variable",
        object,
        line: 0,
        detail: String::new(),
    }));
}
