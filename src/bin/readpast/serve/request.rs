//! What is asked.

use super::encoding::{decode, pairs};
use hyper::HeaderMap;

/// A request whose form has been read.
pub struct Request {
    /// The parts of the path, decoded.
    path: Vec<String>,
    query: Vec<(String, String)>,
    /// What a form brought; `None` where none was sent.
    pub form: Option<Vec<(String, String)>>,
    pub headers: HeaderMap,
    /// Who asks, as the log names them.
    pub who: String,
}

impl Request {
    pub fn new(uri: &hyper::Uri, headers: HeaderMap, form: Option<&str>, who: String) -> Self {
        let path = uri.path().split('/').filter(|part| !part.is_empty()).map(|part| decode(part)).collect();
        Self { path, query: pairs(uri.query().unwrap_or_default()), form: form.map(pairs), headers, who }
    }

    pub fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// All that was asked for under names, from the form if there is one.
    pub fn given(&self) -> &[(String, String)] {
        self.form.as_ref().unwrap_or(&self.query)
    }

    /// What was asked for under a name, where it is not empty.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.given().iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}
