//! W3C Trace Context of an item: in one column of text, the `traceparent`, and behind a blank the `tracestate`. Neither is ever
//! an error: a malformed one is left out, as the standard says (<https://www.w3.org/TR/trace-context/>).

/// The length of a `traceparent`; the additions of later versions are ignored.
pub(crate) const PARENT: usize = 55;

/// The least length of a `tracestate` that must be passed on unchanged.
pub(crate) const MOST_STATE: usize = 512;

/// The most members of a `tracestate`.
const MOST_MEMBERS: usize = 32;

/// Longer members are the first to be left out.
const LONG_MEMBER: usize = 128;

/// A place in a distributed trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace<'a> {
    pub(crate) parent: &'a str,
    /// Empty when there is none.
    pub(crate) state: &'a str,
}

impl<'a> Trace<'a> {
    /// Reads the two headers; `None` when the first is not one. A malformed state is left out.
    pub(crate) fn new(parent: &'a str, state: Option<&'a str>) -> Option<Self> {
        let parent = parent_of(parent.trim_ascii())?;
        let state = state.map(str::trim_ascii).filter(|state| is_state(state)).unwrap_or_default();
        Some(Self { parent, state })
    }

    /// Reads the text of an item's column.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim_ascii();
        match text.split_once(' ') {
            Some((parent, state)) => Self::new(parent, Some(state)),
            None => Self::new(text, None),
        }
    }

    /// The text of an item's column, of at most so many characters. A state that is too long loses whole members: long ones
    /// first, then the last.
    pub(crate) fn text(self, most: usize) -> String {
        let room = most.saturating_sub(PARENT + 1).min(MOST_STATE);
        let mut members: Vec<&str> = self.state.split(',').map(str::trim_ascii).filter(|one| !one.is_empty()).collect();
        let length = |members: &[&str]| members.iter().map(|one| one.len() + 1).sum::<usize>().saturating_sub(1);
        while length(&members) > room {
            let last_long = members.iter().rposition(|one| one.len() > LONG_MEMBER);
            members.remove(last_long.unwrap_or(members.len() - 1));
        }
        let blank = if members.is_empty() { "" } else { " " };
        format!("{}{blank}{}", self.parent, members.join(","))
    }
}

/// The part of a `traceparent` that all versions have.
fn parent_of(text: &str) -> Option<&str> {
    let parent = text.get(..PARENT)?;
    let more = &text[PARENT..];
    let parts: Vec<_> = parent.split('-').collect();
    let [version, trace, span, flags] = parts[..] else { return None };
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let is_something = |text: &str| text.bytes().any(|byte| byte != b'0');
    let ends = more.is_empty() || (version != "00" && more.starts_with('-'));
    let fits = is_hex(version, 2) && version != "ff" && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    (fits && ends && is_something(trace) && is_something(span)).then_some(parent)
}

/// `vendor=value,other=value`, each vendor once.
fn is_state(text: &str) -> bool {
    let members: Vec<_> = text.split(',').map(str::trim_ascii).filter(|one| !one.is_empty()).collect();
    let mut names: Vec<_> = members.iter().filter_map(|one| Some(one.split_once('=')?.0)).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == members.len() && members.len() <= MOST_MEMBERS && members.iter().all(|member| is_member(member))
}

fn is_member(member: &str) -> bool {
    let Some((name, value)) = member.split_once('=') else { return false };
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let of_value = |byte: u8| (0x20..=0x7e).contains(&byte) && byte != b'=';
    let (names, values) = (1..=256, 1..=256);
    begins
        && names.contains(&name.len())
        && name.bytes().all(of_name)
        && values.contains(&value.len())
        && value.bytes().all(of_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_malformed_parent_is_ignored() {
        assert_eq!(Trace::read(GOOD), Some(Trace { parent: GOOD, state: "" }));
        for bad in [
            "",
            "00",
            &GOOD[..54],
            &format!("{GOOD}-what"),
            &format!("{GOOD}0"),
            &GOOD.replace("00-4", "ff-4"),
            &GOOD.replace("4bf9", "4BF9"),
            &GOOD.replace("4bf9", "4bg9"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "\u{e9}0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\u{e9}",
        ] {
            assert_eq!(Trace::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = GOOD.replace("00-4", "cc-4");
        assert_eq!(Trace::read(&format!("{later}-what it will be")).unwrap().parent, later);
        assert_eq!(Trace::read(&format!("{later}.what")), None);
    }

    #[test]
    fn a_state_that_is_none_is_left_out_and_the_parent_stays() {
        for good in ["a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "1t@v=!~ x, ,b=2"] {
            assert_eq!(Trace::new(GOOD, Some(good)).unwrap().state, good);
            assert_eq!(Trace::read(&format!("{GOOD} {good}")).unwrap().state, good);
        }
        let many: Vec<_> = (0..33).map(|i| format!("k{i}=1")).collect();
        for bad in ["a", "=1", "a=", "A=1", "a=1,a=2", "a=b=c", "a=\u{e9}", "a=\t", "@a=1", &many.join(",")] {
            assert_eq!(Trace::new(GOOD, Some(bad)).unwrap(), Trace { parent: GOOD, state: "" }, "{bad}");
        }
        assert!(!Trace::new(GOOD, Some(&many[..32].join(","))).unwrap().state.is_empty());
    }

    #[test]
    fn a_long_state_loses_whole_members() {
        let (long, short) = (format!("long={}", "x".repeat(124)), format!("short={}", "y".repeat(122)));
        let state = format!("{long},a=1,{short},b=2");
        let trace = Trace::new(GOOD, Some(&state)).unwrap();
        assert_eq!(trace.text(4000), format!("{GOOD} {state}"));
        assert_eq!(trace.text(PARENT + 1 + state.len() - 1), format!("{GOOD} a=1,{short},b=2"), "the long one first");
        assert_eq!(trace.text(PARENT + 8), format!("{GOOD} a=1"), "then the last");
        assert_eq!(trace.text(PARENT), GOOD);
        let most: Vec<_> = (0..8).map(|i| format!("k{i}={}", "z".repeat(100))).collect();
        let text = Trace::new(GOOD, Some(&most.join(","))).unwrap().text(4000);
        assert_eq!(text, format!("{GOOD} {}", most[..4].join(",")), "no more than has to be passed on");
        assert_eq!(Trace::read(&text).unwrap().text(4000), text);
    }
}
