//! Numbers of a description that a program built, held to the ranges of those that are read.

use super::keys;
use super::options::{ATTEMPTS_KEYS, BACKOFF, LEASE};
use crate::description::QueueSpec;
use crate::description::check::{Checked, DescriptionPath};

/// Checks them.
pub(in crate::description) fn ranges(root: &DescriptionPath, spec: &QueueSpec) -> Checked {
    keys::check(&root.key("attempts"), &ATTEMPTS_KEYS, spec)?;
    spec.backoff.as_ref().map_or(Ok(()), |backoff| keys::check(&root.key("backoff"), &BACKOFF, backoff))?;
    keys::check(&root.key("lease"), &LEASE, &spec.lease)
}
