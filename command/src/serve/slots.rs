//! The slots for connections. Somebody new always gets one: where there is none left, the oldest connection that has shown no
//! right to be here makes way. So nobody keeps others out by holding many, not even from monitoring.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Connections at a time.
const MOST: usize = 256;
/// How many of them may be of one peer.
const MOST_OF_PEER: usize = 128;
/// How many connections of one peer may listen to events: pages that are left open take no slot from requests.
/// Listeners never make way, so there must be others.
const MOST_LISTENERS_OF_PEER: usize = 96;

/// All slots.
#[derive(Default)]
pub struct Slots(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// By their numbers, the oldest first.
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// All connections come through a reverse proxy, which is one peer then.
    has_proxy: bool,
}

struct Connection {
    peer: IpAddr,
    /// Whether a request was admitted.
    is_known: bool,
    listens: bool,
    end: Option<AbortHandle>,
}

impl Slots {
    pub fn new(has_proxy: bool) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Open { has_proxy, ..Open::default() })))
    }

    /// A slot for a connection, whatever there is.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Slot {
        let mut open = self.lock();
        let peer = peer_of(from);
        let is_theirs = |connection: &Connection| connection.peer == peer;
        let has_many = !open.has_proxy
            && open.connections.values().filter(|connection| is_theirs(connection)).count() >= MOST_OF_PEER;
        if has_many || open.connections.len() >= MOST {
            let may_go = |connection: &Connection| !connection.listens && (!has_many || is_theirs(connection));
            let candidates = open.connections.iter().filter(|(_, connection)| may_go(connection));
            let goes = candidates
                .min_by_key(|(number, connection)| (connection.is_known, **number))
                .map(|(number, _)| *number);
            if let Some(end) =
                goes.and_then(|number| open.connections.remove(&number)).and_then(|connection| connection.end)
            {
                end.abort();
            }
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Connection { peer, is_known: false, listens: false, end: None });
        drop(open);
        Slot { slots: Arc::clone(self), number }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one connection; it is free again when this is dropped.
pub struct Slot {
    slots: Arc<Slots>,
    number: u64,
}

impl Slot {
    /// Keeps the handle that ends the connection when it has to make way.
    pub fn ends_by(&self, end: AbortHandle) {
        self.change(|connection| connection.end = Some(end));
    }

    /// A request was admitted.
    pub fn know(&self) {
        self.change(|connection| connection.is_known = true);
    }

    pub fn is_known(&self) -> bool {
        self.slots.lock().connections.get(&self.number).is_some_and(|connection| connection.is_known)
    }

    /// From now on it listens to events. False: too many of its peer do already.
    pub fn listen(&self) -> bool {
        let mut open = self.slots.lock();
        let Some(peer) = open.connections.get(&self.number).map(|connection| connection.peer) else { return false };
        let listening =
            open.connections.values().filter(|connection| connection.listens && connection.peer == peer).count();
        let may = open.has_proxy || listening < MOST_LISTENERS_OF_PEER;
        if let Some(connection) = open.connections.get_mut(&self.number) {
            connection.listens = may;
        }
        may
    }

    fn change(&self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.slots.lock().connections.get_mut(&self.number) {
            change(connection);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.lock().connections.remove(&self.number);
    }
}

/// The peer of an address: one machine or network has many addresses.
fn peer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        own if own.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn is_there(slot: &Slot) -> bool {
        slot.slots.lock().connections.contains_key(&slot.number)
    }

    #[test]
    fn the_oldest_stranger_makes_way_for_somebody_new() {
        let slots = Slots::new(false);
        let one = address(1);
        let known = slots.enter(one);
        known.know();
        let strangers: Vec<_> = (1..MOST_OF_PEER).map(|_| slots.enter(one)).collect();
        assert!(is_there(&known) && strangers.iter().all(is_there));
        let new = slots.enter(one);
        assert!(is_there(&new) && is_there(&known) && !is_there(&strangers[0]) && is_there(&strangers[1]));
        // Another peer takes no slot from it while there are slots.
        let other = slots.enter(address(2));
        assert!(is_there(&other) && is_there(&strangers[1]));
    }

    #[test]
    fn a_peer_keeps_places_for_others_and_listeners_stay() {
        let slots = Slots::new(false);
        let all: Vec<_> = (0..3)
            .flat_map(|peer| (0..MOST_OF_PEER).map(move |_| peer))
            .map(|peer| slots.enter(address(peer)))
            .collect();
        assert_eq!(slots.lock().connections.len(), MOST);
        assert!(all[MOST_OF_PEER..].iter().all(is_there), "the oldest have made way");
        let listening = all[MOST_OF_PEER..].iter().filter(|slot| slot.listen()).count();
        assert_eq!(listening, 2 * MOST_LISTENERS_OF_PEER);
        all.iter().for_each(Slot::know);
        let new: Vec<_> = (0..2 * MOST).map(|_| slots.enter(address(9))).collect();
        assert!(is_there(new.last().unwrap()));
        let listening = slots.lock().connections.values().filter(|connection| connection.listens).count();
        assert_eq!(listening, 2 * MOST_LISTENERS_OF_PEER);
        drop((all, new));
        assert!(slots.lock().connections.is_empty());
    }

    #[test]
    fn a_machine_is_one_peer() {
        for (one, other, is_same) in [
            ("127.0.0.1", "127.9.9.9", true),
            ("::1", "127.0.0.1", true),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("2001:db8::1", "2001:db8::2", true),
            ("2001:db8:0:1::1", "2001:db8::1", false),
            ("10.0.0.1", "10.0.0.2", false),
        ] {
            let peer = |text: &str| peer_of(text.parse().unwrap());
            assert_eq!(peer(one) == peer(other), is_same, "{one} {other}");
        }
    }
}
