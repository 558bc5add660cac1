//! Tests that need no server: rendered SQL, descriptions, the header, the pages, the order of the modules.

mod header;
mod layers;
mod licences;
mod locks;
mod performance;
mod properties;
mod readme;
mod security;
mod snapshots;
mod spec;
mod sql;
mod tree;
mod tsql;
mod words;
