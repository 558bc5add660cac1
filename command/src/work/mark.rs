//! The mark at the beginning of a directive, and invisible bytes around it.

/// Whether bytes begin like a directive, or like a failed attempt at one: with any bytes around and between the signs (a byte
/// order mark, NULs, colours, the second bytes of UTF-16), and any quotes (Python's, none, escaped ones).
pub fn looks_like_one(bytes: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let signs: Vec<_> = bare_start(bytes).iter().copied().filter(is_sign).take(MARK.len() + 1).collect();
    let Some((mark, next)) = signs.split_at_checked(MARK.len()) else { return false };
    // "readpast_id" is another name.
    let goes_on = next.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    mark.eq_ignore_ascii_case(MARK) && !goes_on
}

/// Whether a line ends here. Programs that show their progress write over a line, after a carriage return.
pub fn ends_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The mark of a directive stands within so many bytes of its line, or object.
pub const BEGINNING: usize = 256;

/// The beginning of a directive, without the quotes.
const MARK: &[u8] = b"{readpast";

/// Whether a line is blank.
pub fn is_blank(line: &[u8]) -> bool {
    bare(line).is_empty()
}

/// Bytes without invisible ones around them.
pub fn bare(bytes: &[u8]) -> &[u8] {
    let mut rest = bare_start(bytes);
    loop {
        let before = rest.len();
        while let [head @ .., last] = rest
            && (last.is_ascii_whitespace() || last.is_ascii_control())
        {
            rest = head;
        }
        rest = rest.strip_suffix(BYTE_ORDER_MARK).unwrap_or(rest);
        rest = without_colour_at_end(rest);
        if rest.len() == before {
            return rest;
        }
    }
}

/// The same at the beginning only.
pub fn bare_start(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        let before = rest.len();
        rest = without_colour(rest);
        while let [first, tail @ ..] = rest
            && (first.is_ascii_whitespace() || first.is_ascii_control())
            && !rest.starts_with(ESCAPE)
        {
            rest = tail;
        }
        rest = rest.strip_prefix(BYTE_ORDER_MARK).unwrap_or(rest);
        if rest.len() == before {
            return rest;
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Commands to a terminal begin with this, and end with a letter.
const ESCAPE: &[u8] = b"\x1b[";

fn without_colour(bytes: &[u8]) -> &[u8] {
    let Some(rest) = bytes.strip_prefix(ESCAPE) else { return bytes };
    let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'?'));
    end.map_or(&[], |end| &rest[end + 1..])
}

fn without_colour_at_end(bytes: &[u8]) -> &[u8] {
    let Some(at) = bytes.windows(2).rposition(|pair| pair == ESCAPE) else { return bytes };
    if without_colour(&bytes[at..]).is_empty() { &bytes[..at] } else { bytes }
}
