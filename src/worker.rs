//! What a worker needs besides claim and settle: its leases renewed while it works.

mod renewal;

pub use renewal::Renewal;
