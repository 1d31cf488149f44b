//! Somebody whom the store lets in tries to fill this process's memory through it. Alone in its process, so that what the kernel
//! says of memory is about this.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use rankscope_probe::rendezvous::{KeyValueStore, StoreError, StoreServer, TcpStore};
use sha2::Sha256;

const PATIENCE: Duration = Duration::from_secs(20);
const SET: u8 = 1;
const GET: u8 = 2;
const WAIT: u8 = 3;

/// A client that keeps to no limit, written from the description of the wire alone.
struct Attacker {
    stream: TcpStream,
    key: Vec<u8>,
    sent: u64,
}

impl Attacker {
    fn enter(server: &StoreServer, who: u8) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let ours = [&b"RSkv\x01\0\0\0"[..], &[who; 16], &[7; 16]].concat();
        let mut theirs = [0; 40];
        stream.write_all(&ours).unwrap();
        stream.read_exact(&mut theirs).unwrap();
        let key = signed(b"", &[b"rankscope store session", &ours, &theirs]);
        stream.write_all(&signed(&key, &[&[0], b"proof"])).unwrap();
        stream.read_exact(&mut [0; 33]).unwrap();
        Self { stream, key, sent: 0 }
    }

    /// A request; no answer is read.
    fn ask(&mut self, op: u8, key: &str, payload: &[u8]) -> bool {
        self.sent += 1;
        let head = [&[op][..], &(self.sent as u32).to_le_bytes(), &(key.len() as u16).to_le_bytes()].concat();
        let body = [&head, key.as_bytes(), payload].concat();
        let tag = signed(&self.key, &[&[0], &self.sent.to_le_bytes(), &body]);
        let frame = [&(body.len() as u32).to_le_bytes(), &body[..], &tag[..16]].concat();
        // A store that does not listen any more, or has closed, is what we hope for.
        self.stream.write_all(&frame).is_ok()
    }
}

fn signed(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

fn memory_mib(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

/// What the store may hold at most by its own account, with room for an allocator that gives back late.
const BOUND_MIB: usize = 64 + 64 + 100;

#[test]
fn whoever_is_let_in_costs_bounded_memory_and_nobody_else_their_turn() {
    let server = StoreServer::start("127.0.0.1", 0, None).unwrap();
    let mut bystander = TcpStore::new("127.0.0.1", server.address().port(), None, PATIENCE).unwrap();
    let before = memory_mib("VmRSS");

    // Ask for a MiB three thousand times in a few bytes each, and read nothing; and this from many sides.
    let text = vec![b'v'; 1 << 20];
    let mut unread: Vec<Attacker> = (0..100).map(|who| Attacker::enter(&server, who)).collect();
    assert!(unread[0].ask(SET, "big", &text));
    for attacker in &mut unread {
        let count = if attacker.sent > 0 { 3_000 } else { 200 };
        let _asked = (0..count).take_while(|_| attacker.ask(GET, "big", &[])).count();
    }
    bystander.set("small", "value").unwrap();

    // Have many waiters woken with a MiB each.
    let mut waiting: Vec<Attacker> = (100..250).map(|who| Attacker::enter(&server, who)).collect();
    waiting.iter_mut().for_each(|attacker| assert!(attacker.ask(WAIT, "late", &[])));
    let mut setter = Attacker::enter(&server, 250);
    assert!(setter.ask(SET, "late", &text));
    bystander.set("small", "value").unwrap();

    // Begin a long request from many sides and never end it.
    let mut halves: Vec<Attacker> = (0..200).map(|who| Attacker::enter(&server, who)).collect();
    for half in &mut halves {
        let _sent = half.stream.write_all(&(1u32 << 20).to_le_bytes()).and_then(|()| half.stream.write_all(&text[..1 << 19]));
    }
    bystander.set("small", "value").unwrap();

    // Fill the store itself, once there is room again for a long text on its way.
    drop((unread, waiting, halves));
    let text = String::from_utf8(text).unwrap();
    let full = (0..200).find_map(|number| bystander.set(&format!("fill {number}"), &text).err()).unwrap();
    assert!(matches!(&full, StoreError::Refused { reason, .. } if reason.contains("full")), "{full}");

    assert_eq!(bystander.get("small").unwrap().as_deref(), Some("value"), "the others are served all the same");
    let grown = memory_mib("VmHWM") - before;
    assert!(grown <= BOUND_MIB, "{grown} MiB more than before; closed: {:?}", server.refusals());
}
