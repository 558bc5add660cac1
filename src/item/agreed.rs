//! Settings, limits and pauses of a queue over several databases: shown once where all places agree, else for each.

use super::Limit;
use std::cmp::Reverse;

/// The values of places: one of each group where all agree, else one for each place, which `place` marks with it.
pub(crate) fn agreed<T: Clone, K: PartialEq, V: AsRef<[T]>>(
    each: &[(&str, V)],
    group: impl Fn(&T) -> K,
    agree: impl Fn(&[&T]) -> bool,
    one: impl Fn(&[&T]) -> T,
    place: impl Fn(&mut T, &str),
) -> Vec<T> {
    let mut groups: Vec<(K, Vec<(&str, &T)>)> = Vec::new();
    for (name, value) in each.iter().flat_map(|(name, values)| values.as_ref().iter().map(move |value| (*name, value)))
    {
        let key = group(value);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, there)) => there.push((name, value)),
            None => groups.push((key, vec![(name, value)])),
        }
    }
    let shown = |(_, there): (K, Vec<(&str, &T)>)| {
        let values: Vec<_> = there.iter().map(|(_, value)| *value).collect();
        if agree(&values) {
            return vec![one(&values)];
        }
        let marked = |(name, value): (&str, &T)| {
            let mut value = value.clone();
            place(&mut value, name);
            value
        };
        there.into_iter().map(marked).collect()
    };
    groups.into_iter().flat_map(shown).collect()
}

impl Limit {
    /// The limits of several places, those of all keys before those of one, with most in work first. A key is in work at one place, and a
    /// change of it is at all.
    pub(crate) fn of_places(each: &[(&str, Vec<Self>)]) -> Vec<Self> {
        let terms = |of: &Self| (of.at_once, of.rate, of.burst, of.who.clone(), of.reason.clone());
        let agree = |there: &[&Self]| {
            let is_everywhere = there.len() == each.len() || there[0].who.is_none();
            is_everywhere && there.iter().all(|of| terms(of) == terms(there[0]))
        };
        let one = |there: &[&Self]| Self {
            in_work: there.iter().map(|of| of.in_work).sum(),
            starts: there.iter().filter_map(|of| of.starts).min(),
            free_at: there.iter().filter_map(|of| of.free_at.clone()).max(),
            ..there[0].clone()
        };
        let group = |of: &Self| (of.by.clone(), of.key.clone());
        let mut limits = agreed(each, group, agree, one, |of, place| of.place = Some(place.to_owned()));
        let mut columns: Vec<Option<String>> = Vec::new();
        for of in limits.iter().filter(|of| of.key.is_none()) {
            if !columns.contains(&of.by) {
                columns.push(of.by.clone());
            }
        }
        limits.sort_by_key(|of| {
            (columns.iter().position(|by| *by == of.by), of.key.is_some(), Reverse(of.key.as_ref().map(|_| of.in_work)))
        });
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shown_once_where_places_agree() {
        let text = |text: &str| Some(text.to_owned());
        let every = Limit { by: text("Host"), at_once: Some(3), in_work: 2, ..Limit::default() };
        let key = |key: &str, in_work| Limit { key: text(key), in_work, ..every.clone() };
        let changed = |at_once| Limit { at_once: Some(at_once), who: text("ann"), ..key("z", 0) };
        let shown = |each: &[(&str, Vec<Limit>)]| -> Vec<_> {
            let of = |of: Limit| (of.key, of.at_once.unwrap(), of.in_work, of.place);
            Limit::of_places(each).into_iter().map(of).collect()
        };
        let (a, b) = (vec![every.clone(), key("x", 1), changed(9)], vec![every.clone(), key("y", 2), changed(9)]);
        let (all, x, y) = ((None, 3, 4, None), (text("x"), 3, 1, None), (text("y"), 3, 2, None));
        assert_eq!(shown(&[("a", a.clone()), ("b", b)]), [all, y, x.clone(), (text("z"), 9, 0, None)]);
        // Another number at one place, and a change that one place lacks.
        let other = Limit { at_once: Some(5), ..every };
        assert_eq!(
            shown(&[("a", a), ("b", vec![other])]),
            [(None, 3, 2, text("a")), (None, 5, 2, text("b")), x, (text("z"), 9, 0, text("a"))]
        );
    }
}
