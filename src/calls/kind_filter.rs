//! The kind filter: the types and steps that a handle claims.

use crate::config::{Config, MAX_KINDS};
use crate::description::{QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::session::Param;
use serde_json::json;

/// The types and steps that a handle's claims name; without any it claims all.
#[derive(Debug, Default)]
pub(crate) struct KindFilter {
    types: Option<String>,
    steps: Option<String>,
    /// Whether the queue's claims take types, and steps.
    takes: (bool, bool),
    /// The same text for the same kinds.
    pub(crate) key: String,
}

impl KindFilter {
    /// The filter of `config`, if claims of the queue support it.
    pub(super) fn new(config: &Config, spec: &QueueSpec) -> Result<Self> {
        let listed = |key| {
            config.texts(key).map(|mut texts| {
                texts.sort();
                texts.dedup();
                texts
            })
        };
        let (types, steps) = (listed("worker.types"), listed("worker.steps"));
        check_types(spec, types.as_deref().unwrap_or_default())?;
        check_shape(spec, types.is_some(), steps.is_some())?;
        let count = |texts: &Option<Vec<String>>| texts.as_ref().map_or(1, Vec::len);
        let kinds = count(&types) * count(&steps);
        if kinds > MAX_KINDS {
            let message =
                format!("\"worker.types\" times \"worker.steps\" are {kinds} kinds; a claim takes {MAX_KINDS} at most");
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        }
        let key = if types.is_none() && steps.is_none() { String::new() } else { json!([types, steps]).to_string() };
        let [types, steps] = [types, steps].map(|texts| texts.map(|texts| json!(texts).to_string()));
        Ok(Self { types, steps, takes: (spec.asks_types(), spec.asks_steps()), key })
    }

    /// The last parameters of a claim.
    pub(super) fn params(&self) -> impl Iterator<Item = Param<'_>> {
        let (types, steps) = (self.takes.0.then_some(&self.types), self.takes.1.then_some(&self.steps));
        [types, steps].into_iter().flatten().map(|json| Param::OptionalText(json.as_deref()))
    }
}

/// Refuses a type that the queue does not have: no item would ever come.
fn check_types(spec: &QueueSpec, types: &[String]) -> Result<()> {
    let Some(unknown) = types.iter().find(|kind| !spec.types.contains(kind)) else { return Ok(()) };
    let near = did_you_mean(unknown, spec.types.iter().map(String::as_str));
    let message = format!(
        "\"worker.types\": queue {} has no type {}{near}; it has {:?}",
        spec.queue,
        Excerpt(unknown),
        spec.types
    );
    Err(Error::new(ErrorKind::InvalidConfig, message))
}

/// Refuses a filter by types, or steps, or both, without an index for it.
fn check_shape(spec: &QueueSpec, types: bool, steps: bool) -> Result<()> {
    let always = spec.is_always_by_type();
    let serves = |search: &crate::description::KindSearch| {
        search.step == steps && (search.kind == types || search.kind && always)
    };
    let searches = spec.kind_searches();
    if !types && !steps || searches.iter().any(serves) {
        return Ok(());
    }
    let (named, list) = match (types, steps) {
        (true, true) => ("\"worker.types\" and \"worker.steps\" are set", r#"["type", "step"]"#),
        (true, false) => ("\"worker.types\" is set", r#"["type"]"#),
        _ => ("\"worker.steps\" is set", r#"["step"]"#),
    };
    let queue = &spec.queue;
    let why = match (&spec.storage, searches.first()) {
        (Storage::Procedures(_), _) => {
            format!("queue {queue} has hand-written procedures, which take no kinds")
        }
        (_, Some(search)) if search.kind && search.step => format!(
            "claims of queue {queue} name types and steps, both or neither: set the other too (`\"\"` is the step of items \
             that have none), or write claim_by = {list} in its description and install it again"
        ),
        _ => format!(
            "queue {queue} has no index for such claims: write claim_by = {list} in its description and install it again"
        ),
    };
    Err(Error::new(ErrorKind::Unsupported, format!("{named}, and {why}")))
}
