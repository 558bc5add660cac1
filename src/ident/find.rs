//! One rule for the names that callers give to columns: the name itself counts, and else the only one that is the same but
//! for the case of letters. Databases do not tell such names apart, and programs spell them as their language does.

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The one at this place.
    One(usize),
    /// Any of several.
    Many,
    /// Nothing.
    None,
}

impl Found {
    /// The place, where it is certain.
    pub(crate) fn found(self) -> Option<usize> {
        if let Self::One(place) = self { Some(place) } else { None }
    }
}

/// Looks for `wanted` among `names`.
pub(crate) fn find_name<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> Found {
    if let Some(place) = names.clone().position(|name| name == wanted) {
        return Found::One(place);
    }
    let wanted = wanted.to_lowercase();
    let mut alike = names.enumerate().filter(|(_, name)| name.to_lowercase() == wanted);
    match (alike.next(), alike.next()) {
        (Some((place, _)), None) => Found::One(place),
        (Some(_), Some(_)) => Found::Many,
        (None, _) => Found::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_itself_counts_and_else_the_only_one_alike() {
        let find = |wanted| find_name(wanted, ["Ref", "ref", "Body", "Gr\u{f6}\u{df}e"].into_iter());
        assert_eq!((find("Ref"), find("ref"), find("REF")), (Found::One(0), Found::One(1), Found::Many));
        assert_eq!((find("body"), find("GR\u{d6}\u{df}E"), find("bod")), (Found::One(2), Found::One(3), Found::None));
    }
}
