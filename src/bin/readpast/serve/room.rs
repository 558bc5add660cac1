//! The places for connections. Somebody new always gets one: where there is none left, the oldest connection that has shown no
//! right to be here makes way. So nobody keeps others out by holding many, not even from monitoring.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Connections at a time.
const MOST: usize = 256;
/// How many of them may be of one peer.
const MOST_OF_PEER: usize = 128;
/// How many connections of one peer may listen to events: pages that are left open take no place from who asks something.
/// Those that listen never make way, so there must be others.
const MOST_LISTENERS_OF_PEER: usize = 96;

/// All places.
#[derive(Default)]
pub struct Room(Mutex<Seats>);

#[derive(Default)]
struct Seats {
    /// By their numbers, the oldest first.
    taken: BTreeMap<u64, Seat>,
    next: u64,
    /// All connections come through a reverse proxy, which is one peer then.
    has_proxy: bool,
}

struct Seat {
    peer: IpAddr,
    /// Whether a request was admitted.
    is_known: bool,
    listens: bool,
    end: Option<AbortHandle>,
}

impl Room {
    pub fn new(has_proxy: bool) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Seats { has_proxy, ..Seats::default() })))
    }

    /// A place for a connection, whatever there is.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Place {
        let mut seats = self.lock();
        let peer = peer_of(from);
        let is_theirs = |seat: &Seat| seat.peer == peer;
        let has_many = !seats.has_proxy && seats.taken.values().filter(|seat| is_theirs(seat)).count() >= MOST_OF_PEER;
        if has_many || seats.taken.len() >= MOST {
            let may_go = |seat: &Seat| !seat.listens && (!has_many || is_theirs(seat));
            let candidates = seats.taken.iter().filter(|(_, seat)| may_go(seat));
            let goes = candidates.min_by_key(|(number, seat)| (seat.is_known, **number)).map(|(number, _)| *number);
            if let Some(end) = goes.and_then(|number| seats.taken.remove(&number)).and_then(|seat| seat.end) {
                end.abort();
            }
        }
        let number = seats.next;
        seats.next += 1;
        seats.taken.insert(number, Seat { peer, is_known: false, listens: false, end: None });
        drop(seats);
        Place { room: Arc::clone(self), number }
    }

    fn lock(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection; it is free again when this is dropped.
pub struct Place {
    room: Arc<Room>,
    number: u64,
}

impl Place {
    /// Keeps the handle that ends the connection when it has to make way.
    pub fn ends_by(&self, end: AbortHandle) {
        self.change(|seat| seat.end = Some(end));
    }

    /// A request was admitted.
    pub fn know(&self) {
        self.change(|seat| seat.is_known = true);
    }

    pub fn is_known(&self) -> bool {
        self.room.lock().taken.get(&self.number).is_some_and(|seat| seat.is_known)
    }

    /// From now on it listens to events. False: too many of its peer do already.
    pub fn listen(&self) -> bool {
        let mut seats = self.room.lock();
        let Some(peer) = seats.taken.get(&self.number).map(|seat| seat.peer) else { return false };
        let listening = seats.taken.values().filter(|seat| seat.listens && seat.peer == peer).count();
        let may = seats.has_proxy || listening < MOST_LISTENERS_OF_PEER;
        if let Some(seat) = seats.taken.get_mut(&self.number) {
            seat.listens = may;
        }
        may
    }

    fn change(&self, change: impl FnOnce(&mut Seat)) {
        if let Some(seat) = self.room.lock().taken.get_mut(&self.number) {
            change(seat);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.lock().taken.remove(&self.number);
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

    fn is_there(place: &Place) -> bool {
        place.room.lock().taken.contains_key(&place.number)
    }

    #[test]
    fn the_oldest_stranger_makes_way_for_somebody_new() {
        let room = Room::new(false);
        let one = address(1);
        let known = room.enter(one);
        known.know();
        let strangers: Vec<_> = (1..MOST_OF_PEER).map(|_| room.enter(one)).collect();
        assert!(is_there(&known) && strangers.iter().all(is_there));
        let new = room.enter(one);
        assert!(is_there(&new) && is_there(&known) && !is_there(&strangers[0]) && is_there(&strangers[1]));
        // Another peer takes no place from it while there are places.
        let other = room.enter(address(2));
        assert!(is_there(&other) && is_there(&strangers[1]));
    }

    #[test]
    fn a_peer_keeps_places_for_others_and_listeners_stay() {
        let room = Room::new(false);
        let all: Vec<_> = (0..3)
            .flat_map(|peer| (0..MOST_OF_PEER).map(move |_| peer))
            .map(|peer| room.enter(address(peer)))
            .collect();
        assert_eq!(room.lock().taken.len(), MOST);
        assert!(all[MOST_OF_PEER..].iter().all(is_there), "the oldest have made way");
        let listening = all[MOST_OF_PEER..].iter().filter(|place| place.listen()).count();
        assert_eq!(listening, 2 * MOST_LISTENERS_OF_PEER);
        all.iter().for_each(Place::know);
        let new: Vec<_> = (0..2 * MOST).map(|_| room.enter(address(9))).collect();
        assert!(is_there(new.last().unwrap()));
        let listening = room.lock().taken.values().filter(|seat| seat.listens).count();
        assert_eq!(listening, 2 * MOST_LISTENERS_OF_PEER);
        drop((all, new));
        assert!(room.lock().taken.is_empty());
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
