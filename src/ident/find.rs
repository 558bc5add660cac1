//! The one rule for names that callers give to columns: the exact name counts, and otherwise the only one that differs just in
//! the case of letters. Databases ignore that case, and programs spell names as their language does.

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundName {
    /// The column at this place.
    One(usize),
    /// Any of several.
    Many,
    /// No column.
    None,
}

impl FoundName {
    /// The place, if it is certain.
    pub(crate) fn found(self) -> Option<usize> {
        if let Self::One(place) = self { Some(place) } else { None }
    }
}

/// Looks for `wanted` among `names`.
pub(crate) fn find_name<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> FoundName {
    if let Some(place) = names.clone().position(|name| name == wanted) {
        return FoundName::One(place);
    }
    let wanted = wanted.to_lowercase();
    let mut alike = names.enumerate().filter(|(_, name)| name.to_lowercase() == wanted);
    match (alike.next(), alike.next()) {
        (Some((place, _)), None) => FoundName::One(place),
        (Some(_), Some(_)) => FoundName::Many,
        (None, _) => FoundName::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_itself_counts_and_else_the_only_one_alike() {
        let find = |wanted| find_name(wanted, ["Ref", "ref", "Body", "Gr\u{f6}\u{df}e"].into_iter());
        assert_eq!((find("Ref"), find("ref"), find("REF")), (FoundName::One(0), FoundName::One(1), FoundName::Many));
        assert_eq!(
            (find("body"), find("GR\u{d6}\u{df}E"), find("bod")),
            (FoundName::One(2), FoundName::One(3), FoundName::None)
        );
    }
}
