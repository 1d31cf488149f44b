//! Ranks of the GPU backend over a card made of threads: the kernels and everything of the host but the driver's calls. What
//! arrives is compared with the simulator, byte for byte.
#![cfg(feature = "cuda")]
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod cuda_card;
mod drawn;

use std::thread;
use std::time::Duration;

use cuda_card::{KERNELS, ThreadCard};
use drawn::{Chance, receive_buffers, send_buffers};
use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::{
    Batch, Exchange, Join, RankExchange, RowCopy, RowSum, Rows, Shard, SplitBatch, SplitTask, TensorName, TensorRows,
};
use rankscope_time::Rank;
use rankscope_transport::cuda::{self, CudaRank};
use rankscope_transport::execute::Trial;
use rankscope_transport::{Transport, TransportError};

/// Long enough for a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn messages_arrive_whatever_their_sizes_and_places() {
    if KERNELS.is_none() {
        return;
    }
    for (world_size, longest, seed) in [(1, 50, 1), (2, 200_000, 2), (3, 100, 3), (5, 3_000, 4), (7, 33, 5)] {
        let mut chance = Chance(seed);
        let exchanges: Vec<Exchange> = (0..8).map(|_| drawn::exchange(world_size, longest, &mut chance)).collect();
        let sent: Vec<_> = exchanges.iter().map(|exchange| send_buffers(exchange, &mut chance)).collect();
        let received = ranks(world_size, |mut end| {
            let rank = end.rank().0 as usize;
            let parts = exchanges.iter().zip(&sent).map(|(exchange, sent)| {
                let part = &exchange.ranks[rank];
                let mut receive = vec![0; part.receive_bytes as usize];
                end.all_to_all(part, &sent[rank], &mut receive).unwrap();
                receive
            });
            parts.collect::<Vec<_>>()
        });
        for (number, (exchange, sent)) in exchanges.iter().zip(&sent).enumerate() {
            for (rank, expected) in receive_buffers(exchange, sent).iter().enumerate() {
                assert!(received[rank][number] == *expected, "seed {seed}, exchange {number}, rank {rank}");
            }
        }
    }
}

#[test]
fn tensors_are_packed_summed_and_unpacked_as_the_simulator_does() {
    if KERNELS.is_none() {
        return;
    }
    for (case, element) in ElementType::ALL.into_iter().chain(ElementType::ALL).enumerate() {
        let mut chance = Chance(100 + case as u64);
        let world_size = 1 + case as u32 % 4;
        let exchanges: Vec<Exchange> = (0..3).map(|_| with_tensors(world_size, element, &mut chance)).collect();
        let inputs: Vec<_> = exchanges.iter().map(|exchange| inputs(exchange, element, &mut chance)).collect();
        let outputs = ranks(world_size, |mut end| {
            let rank = end.rank().0 as usize;
            let carry = |(exchange, input): (&Exchange, &Vec<Vec<Vec<u8>>>)| {
                end.exchange(&exchange.ranks[rank], &exchange.tensors, element, &input[rank]).unwrap().0
            };
            exchanges.iter().zip(&inputs).map(carry).collect::<Vec<_>>()
        });
        for (number, (exchange, input)) in exchanges.iter().zip(&inputs).enumerate() {
            let expected = movement::execute(exchange, element, input).unwrap();
            for (rank, expected) in expected.iter().enumerate() {
                assert!(outputs[rank][number] == *expected, "{element}, case {case}, exchange {number}, rank {rank}");
            }
        }
    }
}

#[test]
fn the_exchanges_of_a_layer_of_random_batches_are_the_simulators() {
    if KERNELS.is_none() {
        return;
    }
    let mut chance = Chance(77);
    for case in 0..12_u64 {
        let world_size = 1 + case as u32 % 5;
        let mut batch = Batch::new(world_size).unwrap();
        for _ in 0..chance.draw(5) {
            let rank = |chance: &mut Chance| Rank(chance.draw(world_size.into()) as u32);
            let shard = |_| Shard { linear: rank(&mut chance), attention: rank(&mut chance), tokens: chance.draw(9) as u32 };
            let document: Vec<Shard> = (0..4).map(shard).collect();
            batch.push(&document).unwrap();
        }
        // Key rows of 16 bytes, query rows with a tail, output rows with log-sum-exp.
        let rows = Rows { hidden_q: 12, hidden_kv: 8, lse: 2, element_bytes: 2 };
        let trial = Trial::new(&batch, &rows, ElementType::Bf16, 2, case).unwrap();
        let job = CudaRank::job((0..world_size).map(|_| ThreadCard).collect(), PATIENCE).unwrap();
        let outcomes = trial.run_threads(job).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.timings.len() == 2), "case {case}");
        // The same documents with the keys of later queries elsewhere, and outputs that are merged.
        let trial = Trial::new(halved(&batch, &mut chance), &rows, ElementType::Bf16, 1, case).unwrap();
        let job = CudaRank::job((0..world_size).map(|_| ThreadCard).collect(), PATIENCE).unwrap();
        trial.run_threads(job).unwrap();
    }
}

/// Documents in halves; the later one's queries see either on ranks drawn by chance.
fn halved(batch: &Batch, chance: &mut Chance) -> SplitBatch {
    let mut tasks = Vec::new();
    for (document, shards) in batch.documents().enumerate() {
        let tokens: u32 = shards.iter().map(|shard| shard.tokens).sum();
        let half = tokens / 2;
        for (queries, keys) in [(0..half, 0..half), (half..tokens, 0..half), (half..tokens, half..tokens)] {
            let rank = Rank(chance.draw(batch.world_size().into()) as u32);
            if !queries.is_empty() && !keys.is_empty() {
                tasks.push(SplitTask { document, queries, keys, rank });
            }
        }
    }
    SplitBatch::new(batch, tasks).expect("halves are all of it")
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    if KERNELS.is_none() {
        return;
    }
    let exchange = drawn::exchange(3, 10, &mut Chance(8));
    let failed = ranks(3, |mut end| {
        if end.rank() == Rank(2) {
            return None;
        }
        let part = &exchange.ranks[end.rank().0 as usize];
        end.all_to_all(part, &vec![0; part.send_bytes as usize], &mut vec![0; part.receive_bytes as usize]).err()
    });
    for (rank, error) in failed.iter().enumerate().take(2) {
        let error = error.as_ref().unwrap();
        // Rank 2 leaves, and whoever hears of it first leaves too.
        assert!(matches!(error, TransportError::PeerLeft { epoch: 1, .. }), "rank {rank}: {error}");
    }
}

#[test]
fn a_peer_that_never_signals_is_named_and_nothing_is_unpacked() {
    if KERNELS.is_none() {
        return;
    }
    // Rank 1 was handed a slice in which it sends nothing: only the signal can tell.
    let mut chance = Chance(9);
    let mut exchange = Exchange { tensors: Vec::new(), ranks: drawn::exchange(2, 1, &mut chance).ranks };
    for part in &mut exchange.ranks {
        *part = RankExchange { sends: Vec::new(), receives: Vec::new(), send_bytes: 0, receive_bytes: 0, ..part.clone() };
    }
    drawn::connect(&mut exchange.ranks, 1, 0, 40, 0);
    exchange.ranks[1].sends.clear();
    let ends = CudaRank::job(vec![ThreadCard, ThreadCard], Duration::from_millis(300)).unwrap();
    let carried = run(ends, |mut end| {
        let part = &exchange.ranks[end.rank().0 as usize];
        let mut receive = vec![0x55; part.receive_bytes as usize];
        let outcome = end.all_to_all(part, &vec![7; part.send_bytes as usize], &mut receive);
        (outcome.err(), receive)
    });
    let (error, receive) = &carried[0];
    assert!(matches!(error, Some(TransportError::Timeout { rank: Rank(0), peer: Rank(1), epoch: 1, .. })), "{error:?}");
    assert_eq!(*receive, [0x55; 40]);
}

#[test]
fn a_message_outside_of_the_peers_buffer_is_refused_before_it_is_put() {
    if KERNELS.is_none() {
        return;
    }
    let mut exchange = drawn::exchange(2, 1, &mut Chance(10));
    for part in &mut exchange.ranks {
        *part = RankExchange { sends: Vec::new(), receives: Vec::new(), send_bytes: 0, receive_bytes: 0, ..part.clone() };
    }
    drawn::connect(&mut exchange.ranks, 0, 1, 40, 0);
    exchange.ranks[0].sends[0].peer_at = 1 << 40;
    let failed = ranks(2, |mut end| {
        let part = &exchange.ranks[end.rank().0 as usize];
        end.all_to_all(part, &vec![7; part.send_bytes as usize], &mut vec![0; part.receive_bytes as usize]).err()
    });
    assert!(matches!(failed[0], Some(TransportError::MessageOutOfBounds { rank: Rank(1), peer: Rank(0), .. })), "{failed:?}");
    assert!(matches!(failed[1], Some(TransportError::PeerLeft { peer: Rank(0), .. })), "{failed:?}");
}

#[test]
fn every_kernel_is_measured_beside_a_copy() {
    if KERNELS.is_none() {
        return;
    }
    let figures = cuda::figures(&ThreadCard, 64, 64 * 30, 2).unwrap();
    let names: Vec<_> = figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["memcpy", "pack", "put", "unpack", "sum bf16", "sum f32"]);
    assert!(figures.iter().all(|figure| figure.bytes == 64 * 32), "{figures:?}");
}

#[test]
fn half_types_are_rounded_like_the_simulators() {
    let Some(library) = KERNELS.as_ref() else { return };
    // SAFETY: the library's entries of these names have these types.
    #[expect(unsafe_code, reason = "calling C")]
    unsafe {
        let widen = |name: &[u8], bits| library.get::<unsafe extern "C" fn(u16) -> f32>(name).unwrap()(bits);
        let round = |name: &[u8], value| library.get::<unsafe extern "C" fn(f32) -> u16>(name).unwrap()(value);
        let values = (0..=u16::MAX).flat_map(|high| {
            // Around every half value: itself, its neighbours, and the ties between.
            [0_u32, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x7fff, 0x8000, 0x8001, 0xffff]
                .map(|low| u32::from(high) << 16 | low)
        });
        for value in values.map(f32::from_bits) {
            let (f16, bf16) = (half::f16::from_f32(value), half::bf16::from_f32(value));
            if value.is_nan() {
                assert!(half::f16::from_bits(round(b"round_f16", value)).is_nan());
                assert!(half::bf16::from_bits(round(b"round_bf16", value)).is_nan());
                continue;
            }
            assert_eq!(round(b"round_f16", value), f16.to_bits(), "{value:e}");
            assert_eq!(round(b"round_bf16", value), bf16.to_bits(), "{value:e}");
        }
        for bits in (0..=u16::MAX).filter(|bits| !half::f16::from_bits(*bits).is_nan()) {
            assert_eq!(widen(b"widen_f16", bits).to_bits(), half::f16::from_bits(bits).to_f32().to_bits(), "{bits:#x}");
            assert_eq!(widen(b"widen_bf16", bits).to_bits(), u32::from(bits) << 16, "{bits:#x}");
        }
    }
}

/// What every rank of a job over threads comes back with, by rank.
fn ranks<T: Send>(world_size: u32, part: impl Fn(CudaRank<ThreadCard>) -> T + Sync) -> Vec<T> {
    run(CudaRank::job((0..world_size).map(|_| ThreadCard).collect(), PATIENCE).unwrap(), part)
}

fn run<T: Send>(ends: Vec<CudaRank<ThreadCard>>, part: impl Fn(CudaRank<ThreadCard>) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = ends.into_iter().map(|end| scope.spawn(move || part(end))).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// An exchange of two tensors drawn by chance: rows of no round length, padded on the wire; rows that are copied twice from the
/// same bytes; sums on both sides, some into the same rows.
fn with_tensors(world_size: u32, element: ElementType, chance: &mut Chance) -> Exchange {
    let tensor = |name, elements: u64, padding| {
        let row_bytes = elements * element.bytes();
        TensorRows { name, row_bytes, wire_row_bytes: row_bytes + padding, join: Join::Add }
    };
    let tensors = vec![
        tensor(TensorName::KeyGradient, 1 + chance.draw(40), chance.draw(20)),
        tensor(TensorName::QueryGradient, 16 * (1 + chance.draw(4)), 0),
    ];
    let mut exchange = Exchange { tensors, ranks: drawn::exchange(world_size, 1, chance).ranks };
    for part in &mut exchange.ranks {
        *part = RankExchange { sends: Vec::new(), receives: Vec::new(), send_bytes: 0, receive_bytes: 0, ..part.clone() };
        part.input_rows = vec![0; 2];
        part.output_rows = vec![0; 2];
    }
    for from in 0..world_size as usize {
        for to in 0..world_size as usize {
            let rows: Vec<u64> = (0..2).map(|_| chance.draw(7)).collect();
            let bytes: u64 = rows.iter().zip(&exchange.tensors).map(|(rows, tensor)| rows * tensor.wire_row_bytes).sum();
            if bytes == 0 {
                continue;
            }
            drawn::connect(&mut exchange.ranks, from, to, bytes, 16 * chance.draw(2));
            let (mut sent, mut received) = (exchange.ranks[from].send_bytes - bytes, exchange.ranks[to].receive_bytes - bytes);
            for (tensor, &rows) in rows.iter().enumerate() {
                copy(&mut exchange.ranks[from], tensor, rows, sent, true);
                for _ in 0..=chance.draw(2) {
                    copy(&mut exchange.ranks[to], tensor, rows, received, false);
                }
                let wire = rows * exchange.tensors[tensor].wire_row_bytes;
                (sent, received) = (sent + wire, received + wire);
            }
        }
    }
    for part in &mut exchange.ranks {
        part.sums_before = sums(&mut part.input_rows, chance);
        part.sums_after = sums(&mut part.output_rows, chance);
    }
    exchange.validate().unwrap();
    exchange
}

fn copy(part: &mut RankExchange, tensor: usize, rows: u64, at: u64, pack: bool) {
    let (all, list) = if pack { (&mut part.input_rows, &mut part.pack) } else { (&mut part.output_rows, &mut part.unpack) };
    list.push(RowCopy { tensor: tensor as u32, row: all[tensor], rows, at });
    all[tensor] += rows;
}

/// Rows of the first half are sums of runs of the second, which grows by rows nothing is copied to.
fn sums(rows: &mut [u64], chance: &mut Chance) -> Vec<RowSum> {
    let mut sums = Vec::new();
    for (tensor, rows) in rows.iter_mut().enumerate() {
        let half = *rows / 2;
        for _ in 0..if half == 0 { 0 } else { chance.draw(5) } {
            let into = chance.draw(half);
            let count = 1 + chance.draw(half - into);
            let from = half + chance.draw(*rows - half - count + 1);
            sums.push(RowSum { tensor: tensor as u32, into, from, rows: count });
        }
        *rows += chance.draw(3);
    }
    sums
}

/// Tensors full of numbers: bytes of any value for integers, no NaN for the others, since which NaN comes out is the adder's
/// business.
fn inputs(exchange: &Exchange, element: ElementType, chance: &mut Chance) -> Vec<Vec<Vec<u8>>> {
    let number = |chance: &mut Chance| -> Vec<u8> {
        let value = chance.draw(1 << 20) as f32 / 1000.0 - 500.0;
        match element {
            ElementType::F64 => f64::from(value).to_le_bytes().to_vec(),
            ElementType::F32 => value.to_le_bytes().to_vec(),
            ElementType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
            ElementType::Bf16 => half::bf16::from_f32(value).to_le_bytes().to_vec(),
            _ => (0..element.bytes()).map(|_| chance.draw(256) as u8).collect(),
        }
    };
    let tensor = |rows: u64, tensor: &TensorRows, chance: &mut Chance| -> Vec<u8> {
        (0..rows * tensor.row_bytes / element.bytes()).flat_map(|_| number(chance)).collect()
    };
    let part = |part: &RankExchange, chance: &mut Chance| {
        part.input_rows.iter().zip(&exchange.tensors).map(|(rows, of)| tensor(*rows, of, chance)).collect()
    };
    exchange.ranks.iter().map(|rank| part(rank, chance)).collect()
}
