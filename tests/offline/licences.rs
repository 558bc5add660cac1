//! The licence of every crate that we build with, build tools included, is one that `deny.toml` allows.

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use std::process::Command;
use toml::de::{DeTable, DeValue};

/// The licences of deny.toml: those for all crates, and those for one of them.
struct Allowed {
    all: Vec<Licensee>,
    exceptions: Vec<(String, Licensee)>,
}

impl Allowed {
    fn read(text: &str) -> Self {
        let table = DeTable::parse(text).expect("deny.toml is TOML");
        let licenses = table.get_ref()["licenses"].get_ref();
        let mut exceptions = Vec::new();
        for exception in licenses["exceptions"].get_ref().as_array().expect("exceptions") {
            let exception = exception.get_ref();
            let name = exception["crate"].get_ref().as_str().expect("crate").to_owned();
            exceptions
                .extend(licensees(exception["allow"].get_ref()).into_iter().map(|licence| (name.clone(), licence)));
        }
        Self { all: licensees(licenses["allow"].get_ref()), exceptions }
    }

    fn meets(&self, name: &str, expression: &Expression) -> bool {
        expression.evaluate(|required| {
            self.all.iter().any(|licence| licence.satisfies(required))
                || self.exceptions.iter().any(|(of, licence)| of == name && licence.satisfies(required))
        })
    }
}

fn licensees(list: &DeValue<'_>) -> Vec<Licensee> {
    let texts = list.as_array().expect("a list").iter().map(|text| text.get_ref().as_str().expect("a text"));
    texts.map(|text| Licensee::parse(text).unwrap_or_else(|error| panic!("deny.toml: {error}"))).collect()
}

/// As crates wrote them for years: `MIT/Apache-2.0`.
fn expression(text: &str) -> Expression {
    Expression::parse_mode(text, ParseMode::LAX).unwrap_or_else(|error| panic!("{error}"))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

#[test]
fn every_crate_has_a_licence_that_is_allowed() {
    let allowed = Allowed::read(include_str!("../../deny.toml"));
    let cargo = Command::new(env!("CARGO")).args(["metadata", "--format-version", "1", "--locked"]).output();
    let cargo = cargo.expect("cargo runs");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).expect("cargo metadata gives JSON");
    let ours = metadata["workspace_members"].as_array().expect("workspace_members");
    let packages = metadata["packages"].as_array().expect("packages");
    let others: Vec<_> = packages.iter().filter(|package| !ours.contains(&package["id"])).collect();
    assert!(others.len() > 20, "that cannot be all: {}", others.len());
    let refused: Vec<_> = others
        .iter()
        .filter(|package| {
            let licence = text(package, "license");
            licence.is_empty() || !allowed.meets(text(package, "name"), &expression(licence))
        })
        .map(|package| {
            format!("{} {}: {:?}", text(package, "name"), text(package, "version"), text(package, "license"))
        })
        .collect();
    assert!(refused.is_empty(), "deny.toml does not allow:\n{}", refused.join("\n"));
}

#[test]
fn an_expression_is_met_by_what_is_allowed_and_by_nothing_else() {
    let allowed = Allowed::read(
        "[licenses]\nallow = [\"MIT\", \"ISC\"]\nexceptions = [{ crate = \"header\", allow = [\"MPL-2.0\"] }]\n",
    );
    for (name, licence, met) in [
        ("any", "MIT OR GPL-3.0-only", true),
        ("any", "MIT/Apache-2.0", true),
        ("any", "MIT AND Unicode-3.0", false),
        ("any", "MPL-2.0", false),
        ("header", "MPL-2.0", true),
        ("any", "ISC AND (GPL-2.0-only OR MIT)", true),
    ] {
        assert_eq!(allowed.meets(name, &expression(licence)), met, "{licence} of {name}");
    }
}
