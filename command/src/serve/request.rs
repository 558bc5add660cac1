//! A request, decoded.

use super::encoding::{decode, pairs};
use super::right::Right;
use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// A request whose form has been read.
pub struct Request {
    /// The parts of the path, decoded.
    path: Vec<String>,
    query: Vec<(String, String)>,
    /// The address as it came.
    address: String,
    /// The fields of a form; `None` where none was sent.
    pub form: Option<Vec<(String, String)>>,
    pub headers: HeaderMap,
    /// The user, as the log names them.
    pub who: String,
    /// Their right, as far as this server does it at all.
    pub right: Right,
}

impl Request {
    pub fn new(uri: &hyper::Uri, headers: HeaderMap, form: Option<&str>, (who, right): (String, Right)) -> Self {
        let path = uri.path().split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let address = uri.path_and_query().map_or("/", |address| address.as_str()).to_owned();
        let query = pairs(uri.query().unwrap_or_default());
        Self { path, query, address, form: form.map(pairs), headers, who, right }
    }

    pub fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// All fields, from the form if there is one.
    pub fn given(&self) -> &[(String, String)] {
        self.form.as_ref().unwrap_or(&self.query)
    }

    /// The value of a field, where it is not empty.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.given().iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Whether the client asked for JSON: by the address, or by what it accepts first.
    pub fn wants_json(&self) -> bool {
        let accepted = self.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let first = accepted.split([',', ';']).next().unwrap_or_default().trim();
        self.query.iter().any(|(name, value)| name == "format" && value == "json")
            || first.eq_ignore_ascii_case("application/json")
    }

    /// The address of the same page as JSON; [`leads_elsewhere`] lets none through that would be another host's.
    pub fn as_json(&self) -> String {
        format!("{}{}format=json", self.address, if self.address.contains('?') { '&' } else { '?' })
    }
}

/// Whether a browser takes a link to this path for one to another host.
pub fn leads_elsewhere(path: &str) -> bool {
    path.starts_with("//") || path.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_path_stays_here() {
        for path in ["//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil.example"] {
            assert!(leads_elsewhere(path), "{path}");
        }
        for path in ["/", "/queue/a%2F%2Fb/items", "/queue//items", "*"] {
            assert!(!leads_elsewhere(path), "{path}");
        }
    }

    fn request(address: &str, accept: &str) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Request::new(&address.parse().unwrap(), headers, None, (String::new(), Right::Read))
    }

    #[test]
    fn json_is_asked_for_by_address_or_header() {
        let browser = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8";
        assert!(!request("/queues", browser).wants_json());
        assert!(request("/queues?format=json", browser).wants_json());
        assert!(request("/queues", "application/json, text/plain").wants_json());
        assert_eq!(
            request("/queue/Mail/items?status=Failed", "").as_json(),
            "/queue/Mail/items?status=Failed&format=json"
        );
        assert_eq!(request("/", "").as_json(), "/?format=json");
    }
}
