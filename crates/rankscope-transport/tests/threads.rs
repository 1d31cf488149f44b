//! Threads exchange what chance drew, at the speed chance gives them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod drawn;

use std::thread;
use std::time::Duration;

use drawn::{Chance, connect, exchange, receive_buffers, send_buffers};
use proptest::prelude::{any, prop_assert_eq, proptest};
use proptest::test_runner::Config;
use rankscope_dispatch::Exchange;
use rankscope_time::Rank;
use rankscope_transport::{Threads, Transport, TransportError};

/// Long enough for a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// All ranks execute all exchanges, one after the other, each dawdling as chance wants. What each received, by rank, exchange.
fn run(exchanges: &[Exchange], sent: &[Vec<Vec<u8>>], seed: u64) -> Vec<Result<Vec<Vec<u8>>, TransportError>> {
    let job = Threads::job(exchanges[0].world_size(), PATIENCE);
    thread::scope(|scope| {
        let ranks = job.into_iter().enumerate().map(|(rank, mut end)| {
            scope.spawn(move || {
                let mut chance = Chance(seed ^ rank as u64);
                let parts = exchanges.iter().zip(sent);
                let received = parts.map(|(exchange, sent)| {
                    let part = &exchange.ranks[rank];
                    let mut receive = vec![0; part.receive_bytes as usize];
                    (0..chance.draw(4) * chance.draw(20)).for_each(|_| thread::yield_now());
                    end.all_to_all(part, &sent[rank], &mut receive).map(|()| receive)
                });
                received.collect()
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn all_arrives(world_size: u32, longest: u64, count: usize, seed: u64) {
    let mut chance = Chance(seed);
    let exchanges: Vec<Exchange> = (0..count).map(|_| exchange(world_size, longest, &mut chance)).collect();
    let sent: Vec<_> = exchanges.iter().map(|exchange| send_buffers(exchange, &mut chance)).collect();
    let expected: Vec<_> = exchanges.iter().zip(&sent).map(|(exchange, sent)| receive_buffers(exchange, sent)).collect();
    for (rank, received) in run(&exchanges, &sent, seed).into_iter().enumerate() {
        for (number, received) in received.unwrap().into_iter().enumerate() {
            assert!(received == expected[number][rank], "seed {seed}, exchange {number}, rank {rank}");
        }
    }
}

proptest! {
    #![proptest_config(Config::with_cases(200))]

    #[test]
    fn every_byte_arrives_whatever_the_sizes_and_delays(world_size in 1_u32..10, longest in 1_u64..100, seed in any::<u64>()) {
        all_arrives(world_size, longest, 6, seed);
    }

    #[test]
    fn bytes_between_messages_are_left_alone(seed in any::<u64>()) {
        let mut chance = Chance(seed);
        let exchange = exchange(1, 40, &mut chance);
        let sent = send_buffers(&exchange, &mut chance);
        let mut receive = vec![0xAA; exchange.ranks[0].receive_bytes as usize];
        Threads::job(1, PATIENCE)[0].all_to_all(&exchange.ranks[0], &sent[0], &mut receive).unwrap();
        let covered = exchange.ranks[0].receives.first().map_or(0, |message| message.bytes as usize);
        let gap = receive.len() - covered;
        prop_assert_eq!(&receive[..gap], &vec![0xAA; gap]);
    }
}

#[test]
fn a_thousand_exchanges_in_a_row_lose_no_signal() {
    all_arrives(4, 300, 1000, 6);
}

#[test]
fn sixty_four_ranks_on_a_few_cores() {
    all_arrives(64, 500, 20, 7);
}

#[test]
fn nobody_sends_anything() {
    let mut exchange = exchange(3, 1, &mut Chance(1));
    for part in &mut exchange.ranks {
        (part.sends, part.receives, part.send_bytes, part.receive_bytes) = (Vec::new(), Vec::new(), 0, 0);
    }
    let received = run(&[exchange.clone(), exchange], &vec![vec![Vec::new(); 3]; 2], 1);
    assert!(received.into_iter().all(|received| received.unwrap() == [[0_u8; 0], []]));
}

/// Two ranks, `bytes` from rank 0 to rank 1.
fn one_message(bytes: u64) -> Exchange {
    let mut exchange = exchange(2, 1, &mut Chance(1));
    for part in &mut exchange.ranks {
        (part.sends, part.receives, part.send_bytes, part.receive_bytes) = (Vec::new(), Vec::new(), 0, 0);
    }
    connect(&mut exchange.ranks, 0, 1, bytes, 0);
    exchange
}

#[test]
fn who_left_is_named_to_who_waits() {
    let exchange = one_message(8);
    let mut job = Threads::job(2, PATIENCE);
    drop(job.remove(0));
    let refused = job[0].all_to_all(&exchange.ranks[1], &[], &mut [0; 8]).unwrap_err();
    assert!(matches!(refused, TransportError::PeerLeft { rank: Rank(1), peer: Rank(0), epoch: 1 }), "{refused}");
}

#[test]
fn who_does_not_come_is_named_to_who_waits() {
    let exchange = one_message(8);
    let mut job = Threads::job(2, Duration::ZERO);
    let refused = job[0].all_to_all(&exchange.ranks[0], &[1; 8], &mut []).unwrap_err();
    assert!(matches!(refused, TransportError::Timeout { rank: Rank(0), peer: Rank(1), epoch: 1, .. }), "{refused}");
}

#[test]
fn slices_of_different_plans_are_noticed() {
    let (short, long) = (one_message(8), one_message(9));
    let mut job = Threads::job(2, PATIENCE);
    let (mut receiver, mut sender) = (job.remove(1), job.remove(0));
    let refused = thread::scope(|scope| {
        scope.spawn(move || sender.all_to_all(&short.ranks[0], &[1; 8], &mut []));
        receiver.all_to_all(&long.ranks[1], &[], &mut [0; 9]).unwrap_err()
    });
    let expected = |error: &TransportError| matches!(error, TransportError::SizeMismatch { expected: 9, actual: 8, .. });
    assert!(expected(&refused), "{refused}");
}

#[test]
fn a_message_outside_its_buffer_is_refused() {
    let mut exchange = one_message(8);
    exchange.ranks[0].sends[0].at = 1;
    let refused = Threads::job(2, PATIENCE)[0].all_to_all(&exchange.ranks[0], &[1; 8], &mut []).unwrap_err();
    assert!(matches!(refused, TransportError::MessageOutOfBounds { at: 1, bytes: 8, of: 8, .. }), "{refused}");

    let refused = Threads::job(2, PATIENCE)[1].all_to_all(&exchange.ranks[1], &[], &mut [0; 7]).unwrap_err();
    assert!(matches!(refused, TransportError::BufferSize { buffer: "receive", expected: 8, actual: 7, .. }), "{refused}");

    let refused = Threads::job(1, PATIENCE)[0].all_to_all(&one_message(8).ranks[0], &[1; 8], &mut []).unwrap_err();
    assert!(matches!(refused, TransportError::WorldSize { plan: 2, backend: 1, .. }), "{refused}");
}
