//! Access control: users, host names, and the origin of forms, so that no other site's page reaches ours.

use super::answer::Answer;
use super::encoding::{base64, random};
use super::right::Right;
use crate::failure::{Result, usage};
use crate::printable::one_line;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::IpAddr;

/// The characters of a name that are logged.
const LONGEST_NAME: usize = 100;

/// The refusal of a form that does not come from here.
pub const STRANGE_FORM: &str =
    "The form did not come from a page of this server, or the server has restarted since: load the page again.";

/// Clients to serve.
pub enum Access {
    /// All that reach the address.
    Anybody,
    /// Those that send one of these, each with its right.
    Token(Vec<(Right, String)>),
    /// Users that a reverse proxy names in this header, and their rights in another, if there is one.
    Header(String, Option<String>),
}

/// The checks of every request.
pub struct Auth {
    access: Access,
    hosts: Vec<String>,
    /// A secret that each form brings, and that no other site knows.
    secret: String,
}

impl Auth {
    pub fn new(access: Access, hosts: Vec<String>) -> Result<Self> {
        if let Access::Header(name, right) = &access {
            for (option, name) in [("--trust-header", Some(name)), ("--right-header", right.as_ref())] {
                let is_none = name.is_some_and(|name| HeaderName::from_bytes(name.as_bytes()).is_err());
                if is_none {
                    return Err(usage(format!("{option} is not a name of a header")));
                }
            }
        }
        let secret = random().map_err(|error| usage(format!("the system gives no random numbers: {error}")))?;
        Ok(Self { access, hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(), secret })
    }

    /// Whether all connections come from a reverse proxy.
    pub fn has_proxy(&self) -> bool {
        matches!(self.access, Access::Header(..))
    }

    /// The secret for a form.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// A name that leads to this machine may be anybody's (DNS rebinding): only those that were named count. An address cannot
    /// be led elsewhere.
    pub fn knows_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = only(headers, HOST.as_str()) else { return false };
        let Some(name) = host.to_str().ok().and_then(host_name) else { return false };
        name == "localhost" || name.parse::<IpAddr>().is_ok() || self.hosts.contains(&name)
    }

    /// The right of a client, or the refusal of one that is not admitted.
    pub fn admits(&self, headers: &HeaderMap) -> std::result::Result<Right, Answer> {
        match &self.access {
            Access::Anybody => Ok(Right::Purge),
            // One of two is the client's.
            Access::Header(name, right) => {
                match only(headers, name).map(|value| !value.as_bytes().trim_ascii().is_empty()) {
                    Some(true) => Ok(right.as_ref().map_or(Right::Purge, |name| {
                        let given = only(headers, name).and_then(|value| value.to_str().ok());
                        given.and_then(|word| Right::named(word.trim())).unwrap_or(Right::Read)
                    })),
                    _ => Err(Answer::last(403, "The reverse proxy has not named the user, in one header.")),
                }
            }
            Access::Token(tokens) => {
                let given =
                    only(headers, AUTHORIZATION.as_str()).and_then(|value| value.to_str().ok()).and_then(token_of);
                // All are compared, so that the time does not show which it was.
                let fits = |given: &str| {
                    tokens
                        .iter()
                        .filter(|(_, token)| same(given.as_bytes(), token.as_bytes()))
                        .map(|(right, _)| *right)
                        .max()
                };
                given.as_deref().and_then(fits).ok_or_else(|| {
                    Answer::last(401, "Give the token as a password, with any user name.")
                        .with("www-authenticate", "Basic realm=\"readpast\", charset=\"UTF-8\"")
                })
            }
        }
    }

    /// The user's name for the log: that of the proxy; else the name in a log-in, which anybody may choose; and
    /// from where.
    pub fn names(&self, headers: &HeaderMap, from: IpAddr) -> String {
        let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let (name, from) = match &self.access {
            Access::Anybody => (None, from.to_string()),
            Access::Header(header, _) => (text(header), format!("{from}, a proxy")),
            Access::Token(_) => (text(AUTHORIZATION.as_str()).as_deref().and_then(user_of), from.to_string()),
        };
        let name = name.map(|name| one_line(&name.trim().chars().take(LONGEST_NAME).collect::<String>()));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} ({from})"),
            None => from,
        }
    }

    /// Whether a request comes from a page of ours, from no page, or from a person who follows another site's link. Programs send
    /// no such headers; a page of another site must not have this server work unseen.
    pub fn admits_page(&self, headers: &HeaderMap) -> bool {
        let says = |name: &str, word: &str| headers.get(name).is_some_and(|value| value == word);
        !headers.contains_key("sec-fetch-site")
            || says("sec-fetch-site", "same-origin")
            || says("sec-fetch-site", "none")
            || (says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document"))
    }

    /// Whether a form was sent from a page of ours.
    pub fn trusts_form(&self, headers: &HeaderMap, secret: Option<&str>) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let from_here = match (text(ORIGIN.as_str()), text(HOST.as_str())) {
            (Some(origin), Some(host)) => {
                origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
            }
            (None, _) => text("sec-fetch-site") == Some("same-origin"),
            _ => false,
        };
        from_here && secret.is_some_and(|secret| same(secret.as_bytes(), self.secret.as_bytes()))
    }
}

/// A header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut given = headers.get_all(name).iter();
    given.next().filter(|_| given.next().is_none())
}

/// The name in a Host header, without the port and the brackets of an address; nothing of what is no name.
fn host_name(host: &str) -> Option<String> {
    let name = if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        if !(port.is_empty() || port.strip_prefix(':')?.bytes().all(|byte| byte.is_ascii_digit())) {
            return None;
        }
        address
    } else {
        let (name, port) = host.split_once(':').unwrap_or((host, ""));
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        name
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte)))
        .then_some(name)
}

/// The token in `Bearer token`, or in `Basic` as the password.
fn token_of(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    Some(pair(rest)?.1)
}

/// The name in `Basic`.
fn user_of(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("basic") { Some(pair(rest)?.0) } else { None }
}

/// The name and the password of a log-in.
fn pair(encoded: &str) -> Option<(String, String)> {
    let pair = String::from_utf8(base64(encoded.trim())?).ok()?;
    pair.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

/// Equality that takes the same time wherever the difference is.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn auth(access: Access) -> Auth {
        Auth::new(access, vec!["Queues.example".to_owned()]).unwrap()
    }

    #[test]
    fn a_request_has_a_name_for_the_log() {
        let from = IpAddr::from([10, 0, 0, 1]);
        let named = |access, pairs: &[(&'static str, &str)]| auth(access).names(&headers(pairs), from);
        assert_eq!(named(Access::Anybody, &[("x-remote-user", "ann")]), "10.0.0.1");
        let header = || Access::Header("x-remote-user".to_owned(), None);
        assert_eq!(named(header(), &[("x-remote-user", " ann ")]), "ann (10.0.0.1, a proxy)");
        let token = || Access::Token(vec![(Right::Purge, "t".repeat(16))]);
        // ann:t, and a name with a line of its own in it.
        assert_eq!(named(token(), &[("authorization", "Basic YW5uOnQ=")]), "ann (10.0.0.1)");
        assert_eq!(named(token(), &[("authorization", "Basic YQpiOnQ=")]), "a\u{fffd}b (10.0.0.1)");
        assert_eq!(named(token(), &[("authorization", "Bearer tttt")]), "10.0.0.1");
        let long = "a".repeat(1000);
        assert_eq!(named(header(), &[("x-remote-user", &long)]).len(), LONGEST_NAME + " (10.0.0.1, a proxy)".len());
    }

    #[test]
    fn pages_of_other_sites_may_only_link_here() {
        let auth = auth(Access::Anybody);
        let from = |site, mode, dest| {
            auth.admits_page(&headers(&[("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]))
        };
        assert!(auth.admits_page(&HeaderMap::new()), "a program");
        assert!(from("same-origin", "cors", "empty") && from("none", "navigate", "document"));
        for site in ["cross-site", "same-site"] {
            assert!(from(site, "navigate", "document"), "a link");
            assert!(!from(site, "no-cors", "image") && !from(site, "cors", "empty"), "{site}");
            assert!(!from(site, "navigate", "iframe") && !auth.admits_page(&headers(&[("sec-fetch-site", site)])));
        }
    }

    #[test]
    fn only_hosts_that_were_named_are_known() {
        let auth = auth(Access::Anybody);
        for host in [
            "localhost",
            "LOCALHOST:8086",
            "127.0.0.1:1",
            "[::1]:80",
            "10.0.0.7",
            "queues.example",
            "queues.example.:443",
        ] {
            assert!(auth.knows_host(&headers(&[("host", host)])), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:8086@evil",
            "a b",
            "[::1",
            "[::1]x",
            "queues.example:x",
        ] {
            assert!(!auth.knows_host(&headers(&[("host", host)])), "{host}");
        }
        assert!(!auth.knows_host(&headers(&[])));
        assert!(!auth.knows_host(&headers(&[("host", "localhost"), ("host", "evil.example")])));
    }

    #[test]
    fn the_token_is_a_password_or_a_bearer_token() {
        let auth = auth(Access::Token(vec![(Right::Purge, "sesame-sesame-sesame".to_owned())]));
        let admitted = |value: &str| auth.admits(&headers(&[("authorization", value)])).is_ok();
        assert!(admitted("Bearer sesame-sesame-sesame") && admitted("Basic YTpzZXNhbWUtc2VzYW1lLXNlc2FtZQ=="));
        for wrong in
            ["Bearer sesame-sesame-sesam", "Bearer", "Basic !", "Basic YTpi", "Digest x", "sesame-sesame-sesame"]
        {
            assert!(!admitted(wrong), "{wrong}");
        }
        assert!(auth.admits(&HeaderMap::new()).is_err());
        let right = ("authorization", "Bearer sesame-sesame-sesame");
        assert!(auth.admits(&headers(&[right, right])).is_err());
    }

    #[test]
    fn a_client_has_the_right_of_its_token_or_of_its_header() {
        let tokens = [(Right::Read, "reader"), (Right::Operate, "operator"), (Right::Purge, "purger")];
        let by_token = auth(Access::Token(tokens.map(|(right, token)| (right, token.to_owned())).to_vec()));
        for (right, token) in tokens {
            let admitted = by_token.admits(&headers(&[("authorization", &format!("Bearer {token}"))]));
            assert_eq!(admitted.ok(), Some(right), "{token}");
        }
        let by_header = auth(Access::Header("x-user".to_owned(), Some("x-right".to_owned())));
        let right =
            |more: &[(&'static str, &str)]| by_header.admits(&headers(&[&[("x-user", "ann")], more].concat())).ok();
        assert_eq!(right(&[("x-right", "operate")]), Some(Right::Operate));
        assert_eq!(right(&[("x-right", "purge")]), Some(Right::Purge));
        for unclear in
            [&[][..], &[("x-right", "admin")], &[("x-right", "purge"), ("x-right", "purge")], &[("x-right", "")]]
        {
            assert_eq!(right(unclear), Some(Right::Read), "{unclear:?}");
        }
    }

    /// One of two was forged, and nobody knows which.
    #[test]
    fn the_proxy_names_one_user() {
        let auth = auth(Access::Header("x-remote-user".to_owned(), None));
        let admitted = |names: &[&str]| {
            let pairs: Vec<_> = names.iter().map(|name| ("x-remote-user", *name)).collect();
            auth.admits(&headers(&pairs)).is_ok()
        };
        assert!(admitted(&["ann"]));
        for names in [&["root", "ann"][..], &["ann", "ann"], &["", "ann"], &[" "], &[]] {
            assert!(!admitted(names), "{names:?}");
        }
    }

    #[test]
    fn a_form_comes_from_a_page_of_ours() {
        let auth = auth(Access::Anybody);
        let secret = auth.secret().to_owned();
        let trusts = |pairs: &[(&'static str, &str)], secret: &str| auth.trusts_form(&headers(pairs), Some(secret));
        assert!(trusts(&[("host", "localhost:1"), ("origin", "http://localhost:1")], &secret));
        assert!(trusts(&[("host", "localhost:1"), ("sec-fetch-site", "same-origin")], &secret));
        for pairs in [
            &[("host", "localhost:1")][..],
            &[("host", "localhost:1"), ("origin", "null")],
            &[("host", "localhost:1"), ("origin", "http://localhost:2")],
            &[("host", "localhost:1"), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")],
            &[("host", "localhost:1"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!trusts(pairs, &secret), "{pairs:?}");
        }
        let here = &[("host", "localhost:1"), ("origin", "http://localhost:1")];
        assert!(!trusts(here, "") && !trusts(here, &secret[1..]) && !auth.trusts_form(&headers(here), None));
    }
}
