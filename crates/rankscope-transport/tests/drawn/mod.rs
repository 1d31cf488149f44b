//! Exchanges drawn by chance, as messages only: any pair may send any number of bytes at any place, nothing is aligned.

use rankscope_dispatch::{Exchange, Message, RankExchange};
use rankscope_time::Rank;

/// Numbers that look drawn by chance (splitmix64), the same for the same seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// Who sends how many bytes to whom: about a third of the pairs nothing, and some ranks neither send nor receive.
pub(crate) fn exchange(world_size: u32, longest: u64, chance: &mut Chance) -> Exchange {
    let idle: Vec<bool> = (0..world_size).map(|_| chance.draw(5) == 0).collect();
    let mut exchange = Exchange { tensors: Vec::new(), ranks: (0..world_size).map(nothing).collect() };
    for from in 0..world_size as usize {
        for to in 0..world_size as usize {
            if !idle[from] && !idle[to] && chance.draw(3) > 0 {
                connect(&mut exchange.ranks, from, to, 1 + chance.draw(longest), chance.draw(4));
            }
        }
    }
    exchange.validate().expect("messages follow each other");
    exchange
}

/// Appends a message to both buffers, behind a gap.
pub(crate) fn connect(ranks: &mut [RankExchange], from: usize, to: usize, bytes: u64, gap: u64) {
    let (at, peer_at) = (ranks[from].send_bytes + gap, ranks[to].receive_bytes + gap);
    ranks[from].send_bytes = at + bytes;
    ranks[to].receive_bytes = peer_at + bytes;
    ranks[from].sends.push(Message { peer: Rank(to as u32), at, peer_at, bytes });
    ranks[to].receives.push(Message { peer: Rank(from as u32), at: peer_at, peer_at: at, bytes });
}

fn nothing(rank: u32) -> RankExchange {
    RankExchange {
        rank: Rank(rank),
        sends: Vec::new(),
        receives: Vec::new(),
        send_bytes: 0,
        receive_bytes: 0,
        input_rows: Vec::new(),
        output_rows: Vec::new(),
        pack: Vec::new(),
        unpack: Vec::new(),
        sums_before: Vec::new(),
        sums_after: Vec::new(),
    }
}

/// Send buffers full of bytes of their own.
pub(crate) fn send_buffers(exchange: &Exchange, chance: &mut Chance) -> Vec<Vec<u8>> {
    let buffer = |bytes: u64, chance: &mut Chance| (0..bytes).map(|_| chance.draw(256) as u8).collect();
    exchange.ranks.iter().map(|part| buffer(part.send_bytes, chance)).collect()
}

/// What must arrive, from what is sent: zeros where nothing does.
pub(crate) fn receive_buffers(exchange: &Exchange, sent: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut received: Vec<Vec<u8>> = exchange.ranks.iter().map(|part| vec![0; part.receive_bytes as usize]).collect();
    for (from, part) in exchange.ranks.iter().enumerate() {
        for message in &part.sends {
            let bytes = &sent[from][message.at as usize..][..message.bytes as usize];
            received[message.peer.0 as usize][message.peer_at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
    }
    received
}
