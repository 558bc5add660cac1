//! The encodings of addresses, forms and log-ins, by the crates that know them.

use ::base64::Engine;
use ::base64::alphabet::STANDARD;
use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that an address does not have as they are: all but letters, digits and `-._~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Clients differ in whether they pad.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A part of a path. Bytes that are not UTF-8 are replaced.
pub fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Text for an address.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The names and values of a query or a form, in their order.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// A text that nobody can guess.
pub fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The bytes of base64; `None` where it is none.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_are_read() {
        let found = pairs("a=1&b=x+y%2Bz&&c&d=%zz%4&%C3%A4=%FF");
        let expected = [("a", "1"), ("b", "x y+z"), ("c", ""), ("d", "%zz%4"), ("ä", "\u{fffd}")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        for (text, bytes) in [("", ""), ("YQ==", "a"), ("YQ", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YTpi", "a:b")] {
            assert_eq!(base64(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(base64("a b"), None);
    }

    proptest! {
        #[test]
        fn encoded_text_is_read_again(text in any::<String>(), other in any::<String>()) {
            prop_assert_eq!(decode(&encode(&text)), text.clone());
            let query = format!("{}={}", encode(&text), encode(&other));
            prop_assert_eq!(pairs(&query), vec![(text, other)]);
        }
    }
}
