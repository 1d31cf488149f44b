//! Strangers at the door of a real store: each limit alone, with limits small enough to be reached.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::super::auth::{Direction, PROOF_BYTES, Session};
use super::super::client::TcpStore;
use super::*;
use crate::rendezvous::KeyValueStore;

const PATIENCE: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(30);

fn store(limits: Limits) -> StoreServer {
    StoreServer::start_within(limits, "127.0.0.1", 0, SharedKey::new("k")).unwrap()
}

fn client(server: &StoreServer) -> TcpStore {
    TcpStore::new("127.0.0.1", server.address().port(), SharedKey::new("k"), PATIENCE).unwrap()
}

fn stranger(server: &StoreServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection of somebody who has the key and does with it what no client of ours does.
fn insider(server: &StoreServer) -> TcpStream {
    let mut stream = stranger(server);
    let (ours, mut theirs) = (frame::hello(&[1; 16], &[2; 16]), [0; frame::HELLO]);
    stream.write_all(&ours).unwrap();
    stream.read_exact(&mut theirs).unwrap();
    let session = Session::new(SharedKey::new("k").as_ref(), &ours, &theirs);
    stream.write_all(&session.proof(Direction::ToServer)).unwrap();
    stream.read_exact(&mut [0; 1 + PROOF_BYTES]).unwrap();
    stream
}

/// Returns when the store has closed a connection.
fn is_closed(mut stream: TcpStream) {
    let mut all = Vec::new();
    // A connection that is closed with something unread is reset.
    let closed = stream.read_to_end(&mut all).map_or_else(|error| error.kind() == io::ErrorKind::ConnectionReset, |_| true);
    assert!(closed, "still open");
}

fn only(server: &StoreServer, refusal: Refusal, count: u64) {
    assert_eq!(server.refusals(), BTreeMap::from([(refusal, count)]));
}

#[test]
fn who_does_not_greet_is_closed() {
    let server = store(Limits { greeting: SOON, ..Limits::USUAL });
    let mut half = stranger(&server);
    half.write_all(b"RSkv").unwrap();
    is_closed(half);
    is_closed(stranger(&server));
    only(&server, Refusal::Late, 2);
    client(&server).set("key", "value").unwrap();
}

#[test]
fn the_oldest_stranger_makes_room_for_the_next() {
    let server = store(Limits { half_open: 4, ..Limits::USUAL });
    let mut one_of_us = client(&server);
    one_of_us.set("key", "value").unwrap();
    let mut strangers: Vec<TcpStream> = (0..10).map(|_| stranger(&server)).collect();
    // Who comes later is served later: now all of them have come.
    client(&server).set("other", "").unwrap();
    let staying = strangers.split_off(7);
    strangers.into_iter().for_each(is_closed);
    only(&server, Refusal::Crowded, 7);
    drop(staying);
    assert_eq!(one_of_us.get("key").unwrap().as_deref(), Some("value"));
}

#[test]
fn a_full_house_lets_the_silent_go_and_they_come_again() {
    let server = store(Limits { links: 3, ..Limits::USUAL });
    let mut clients: Vec<TcpStore> = (0..8).map(|_| client(&server)).collect();
    for _round in 0..3 {
        for (client, number) in clients.iter_mut().zip(0..) {
            client.set(&format!("key {number}"), "value").unwrap();
            assert_eq!(client.add("count", 0).unwrap(), 0);
        }
    }
    assert!(server.refusals()[&Refusal::Crowded] >= 5);
}

#[test]
fn half_a_request_is_not_waited_for() {
    let server = store(Limits { exchange: SOON, ..Limits::USUAL });
    let mut stalled = insider(&server);
    stalled.write_all(&[9, 0, 0, 0, 1]).unwrap();
    is_closed(stalled);
    only(&server, Refusal::Stalled, 1);
}

#[test]
fn who_holds_most_goes_when_all_hold_too_much() {
    let server = store(Limits { held_bytes: 1 << 18, ..Limits::USUAL });
    let mut modest: Vec<TcpStore> = (0..20).map(|_| client(&server)).collect();
    modest.iter_mut().for_each(|client| client.set("small", "value").unwrap());
    let mut greedy = insider(&server);
    greedy.write_all(&(1u32 << 20).to_le_bytes()).unwrap();
    // It is closed before all of it has come.
    let _reset = greedy.write_all(&[0; 1 << 20]);
    is_closed(greedy);
    only(&server, Refusal::Greedy, 1);
    modest.iter_mut().for_each(|client| assert_eq!(client.get("small").unwrap().as_deref(), Some("value")));
    only(&server, Refusal::Greedy, 1);
}

#[test]
fn each_that_waits_is_told_of_its_own_key_and_who_gives_up_of_none() {
    let server = store(Limits::USUAL);
    // Its wait is taken back by what it asks next, and the key is written afterwards.
    let mut impatient = client(&server);
    impatient.wait("key 3", SOON).unwrap_err();
    impatient.set("given up", "yes").unwrap();
    let waiting: Vec<_> = (0..24)
        .map(|number| {
            let mut client = client(&server);
            std::thread::spawn(move || client.wait(&format!("key {}", number % 8), PATIENCE).unwrap())
        })
        .collect();
    let mut writer = client(&server);
    for number in 0..8 {
        writer.set(&format!("key {number}"), &number.to_string()).unwrap();
    }
    for (thread, number) in waiting.into_iter().zip(0..) {
        assert_eq!(thread.join().unwrap(), (number % 8).to_string());
    }
    assert_eq!(impatient.get("given up").unwrap().as_deref(), Some("yes"));
    assert_eq!(server.refusals(), BTreeMap::new());
}
