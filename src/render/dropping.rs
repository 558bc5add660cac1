//! Drops the objects of a queue's script, except those of the user's or another queue's.

use super::object::{Made, Name, Object};
use super::script::guarded;
use super::table::in_comment;
use super::{Target, names, table_of, theirs};
use crate::description::{QueueSpec, Storage};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use minijinja::{Value, context};
use std::collections::BTreeSet;

/// A foreign key of a table that stays, on one that is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrer {
    /// The table that has it.
    pub table: Name,
    /// Its name.
    pub key: String,
}

/// The script that drops the queue of `spec` where `others` are installed too and `referrers` refer to it: the SQL of
/// [`crate::install::drop_queue`], to read and to run by hand.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] when another queue works on a table that would go.
pub fn drop_script(
    dialect: Dialect,
    schema: &Identifier,
    spec: &QueueSpec,
    others: &[QueueSpec],
    referrers: &[Referrer],
) -> Result<String> {
    Target::new(dialect, schema).leaving(spec.clone(), others)?.script(referrers)
}

/// The objects that go with a queue, and those that stay.
pub(crate) struct Leaving<'a> {
    target: Target<'a>,
    spec: QueueSpec,
    /// Objects to drop, in their order.
    made: Vec<Made>,
    /// The user's tables, which stay.
    stays: Vec<Name>,
    /// Rights that other queues grant too.
    given_by_others: Vec<Made>,
    /// Whether its settings are its own.
    has_settings: bool,
}

impl<'a> Target<'a> {
    /// The objects that go with the queue of `spec` where `others` are installed too.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when another queue works on a table that would go.
    pub(crate) fn leaving(self, spec: QueueSpec, others: &[QueueSpec]) -> Result<Leaving<'a>> {
        let (mut made, mut stays) = (Vec::new(), Vec::new());
        for one in self.owned(&spec)? {
            match one {
                Made::Kept { names, theirs: true, .. } => stays.extend(names),
                Made::Nothing => {}
                other => made.push(other),
            }
        }
        if let Storage::Table(table) = &spec.storage {
            let name = theirs(self.dialect, table);
            if !stays.contains(&name) {
                stays.insert(0, name);
            }
        }
        // Objects of an earlier description that were kept when it changed.
        let shards = spec.shards.or(spec.is_own().then_some(2));
        let earlier = QueueSpec { attempt_history: true, progress: true, shards, ..spec.clone() };
        for one in self.owned(&earlier)? {
            if matches!(&one, Made::Kept { theirs: false, .. }) && !made.contains(&one) {
                made.push(one);
            }
        }
        let mut given_by_others = Vec::new();
        for other in others {
            given_by_others.extend(self.owned(other)?);
        }
        let kept: Vec<_> = given_by_others.iter().flat_map(named).collect();
        made.retain(|one| named(one).iter().all(|name| !kept.contains(name)));
        for other in others {
            let Storage::Table(table) = &other.storage else { continue };
            let works_on = theirs(self.dialect, table);
            if tables(&made).contains(&&works_on) {
                let message = format!("the queue {} works on the table {works_on}; drop that queue first", other.queue);
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        made.reverse();
        let has_settings =
            others.iter().all(|other| other.settings != spec.settings) && spec.settings_table().is_none();
        Ok(Leaving { target: self, spec, made, stays, given_by_others, has_settings })
    }
}

impl Leaving<'_> {
    /// The tables that go, with their rows: that of the items first.
    pub(crate) fn tables(&self) -> Vec<Name> {
        let mut going: Vec<_> = tables(&self.made).into_iter().rev().cloned().collect();
        // On SQL Server types of work have a table, which is made first.
        let of_items = table_of(self.target.dialect, self.target.schema, &self.spec);
        going.sort_by_key(|name| Some(name) != of_items.as_ref());
        going
    }

    /// The description of the queue.
    pub(crate) fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// The user's tables, which stay as they are.
    pub(crate) fn stays(&self) -> &[Name] {
        &self.stays
    }

    /// The statements that drop the queue, in the order to run them.
    pub(crate) fn objects(&self, referrers: &[Referrer]) -> Result<Vec<Object>> {
        let (target, spec) = (self.target, &self.spec);
        let dialect = target.dialect;
        let style = dialect.quote_style();
        let going = tables(&self.made);
        // The user's own tables are locked only when an index on them goes.
        let locked: Vec<_> = going.iter().rev().map(|name| name.quoted(dialect)).collect::<Result<_>>()?;
        let keys: Vec<_> = referrers
            .iter()
            .map(|referrer| {
                let name = Identifier::new("a foreign key", &referrer.key)?.quoted(style);
                Ok(context! { table => referrer.table.quoted(dialect)?, name })
            })
            .collect::<Result<_>>()?;
        let (mut goes, mut grants) = (Vec::new(), Vec::new());
        for made in &self.made {
            match made {
                Made::Code { kind, name } => {
                    goes.push(context! { kind => kind.to_string(), qualified => name.quoted(dialect)? });
                }
                Made::Kept { kind, names, .. } => {
                    for name in names.iter().rev() {
                        goes.push(context! { kind, qualified => name.quoted(dialect)? });
                    }
                }
                // Others go with their table.
                Made::Index(index) if !going.contains(&&index.table) => {
                    let qualified = Name { name: index.name.clone(), ..index.table.clone() }.quoted(dialect)?;
                    let name = Identifier::new("an index", &index.name)?.quoted(style);
                    goes.push(context! { kind => "INDEX", name, qualified, table => index.table.quoted(dialect)? });
                }
                Made::Grant(grant) if self.is_on_what_stays(&grant.on) && !self.given_by_others.contains(made) => {
                    grants.push(context! {
                        right => grant.right.as_str(),
                        on => grant.on.quoted(dialect)?,
                        ..role(dialect, &grant.role)?
                    });
                }
                _ => {}
            }
        }
        for name in self.roles_of_no_other_queue() {
            grants.push(context! { on => (), ..role(dialect, name)? });
        }
        target.objects(
            "schema/drop_queue.sql",
            context! {
                locked,
                keys,
                goes,
                grants,
                first_needed => target.first_needed(spec)?,
                queue => dialect.queue_stem(&spec.queue),
                name => spec.queue.as_str(),
                setting => self.has_settings.then_some(spec.settings.as_str()),
            },
        )
    }

    /// The whole script, for a DBA.
    pub(crate) fn script(&self, referrers: &[Referrer]) -> Result<String> {
        let (target, spec) = (self.target, &self.spec);
        let shown = |name: &Name| Ok(in_comment(&Identifier::new("a table", &name.to_string())?));
        let stays: Vec<_> = self.stays.iter().map(shown).collect::<Result<_>>()?;
        let title = match stays.as_slice() {
            [] => format!("Drops the queue {}, with its items.", spec.queue),
            stays => format!("Drops the queue {}. Untouched with their rows: {}.", spec.queue, stays.join(", ")),
        };
        let mut objects = target.begin(&title, None, true, &names(target.dialect, target.schema, &[spec])?)?;
        objects.extend(self.objects(referrers)?);
        objects.extend(target.end(None, &[])?);
        Ok(guarded(target.dialect, &objects))
    }

    /// Whether the grant is on an object that stays: one that goes takes its grants along.
    fn is_on_what_stays(&self, on: &Name) -> bool {
        !self.made.iter().any(|made| matches!(made, Made::Code { name, .. } if name == on))
    }

    /// The roles to which no other queue grants anything.
    fn roles_of_no_other_queue(&self) -> BTreeSet<&str> {
        let roles = |made: &'_ Made| match made {
            Made::Grant(grant) => Some(grant.role.clone()),
            _ => None,
        };
        let others: BTreeSet<_> = self.given_by_others.iter().filter_map(roles).collect();
        let mine = self.made.iter().filter_map(|made| match made {
            Made::Grant(grant) => Some(grant.role.as_str()),
            _ => None,
        });
        mine.filter(|role| !others.contains(*role)).collect()
    }
}

fn role(dialect: Dialect, name: &str) -> Result<Value> {
    let quoted = Identifier::new("a role", name)?.quoted(dialect.quote_style());
    Ok(context! { role => quoted, role_name => name })
}

/// The named objects.
fn named(made: &Made) -> Vec<Name> {
    match made {
        Made::Code { name, .. } => vec![name.clone()],
        Made::Kept { names, .. } => names.clone(),
        Made::Index(index) => vec![Name { name: index.name.clone(), ..index.table.clone() }],
        Made::Grant(_) | Made::Nothing => Vec::new(),
    }
}

fn tables(made: &[Made]) -> Vec<&Name> {
    let of = |made: &'_ Made| matches!(made, Made::Kept { kind, .. } if kind == "TABLE");
    made.iter()
        .filter(|made| of(made))
        .flat_map(|made| match made {
            Made::Kept { names, .. } => names.as_slice(),
            _ => &[],
        })
        .collect()
}
