//! Collectives over a ring of TCP connections: every rank sends to the next one and receives from the one before.
//!
//! They are what a communication library does, at its smallest: nobody leaves one before everybody has entered it. No rank runs
//! more than a piece ahead of what it has received, so all connections together hold at most a piece a rank and never fill up.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Sent and then received at a time. The smallest buffer of a socket holds more.
const PIECE_BYTES: usize = 16 << 10;

/// How long a neighbour may take to connect.
const PATIENCE: Duration = Duration::from_secs(10);

/// This rank's place in the ring.
pub(crate) struct Ring {
    rank: usize,
    /// How late this rank sends each piece, where its link is to be slow.
    pub(crate) late: Duration,
    ranks: usize,
    next: TcpStream,
    previous: TcpStream,
}

impl Ring {
    /// Meets both neighbours. `all` is where the ranks listen; `token` tells them from strangers.
    /// A neighbour may take `patience` to answer in a collective.
    pub(crate) fn meet(
        listener: &TcpListener,
        rank: usize,
        all: &[SocketAddr],
        token: u64,
        patience: Duration,
    ) -> Result<Self, Error> {
        let (ranks, address) = (all.len(), all[(rank + 1) % all.len()]);
        let mut next = TcpStream::connect(address).map_err(|reason| Error::NoNeighbour { address, reason })?;
        next.write_all(&greeting(token, rank))?;
        let before = (rank + ranks - 1) % ranks;
        let previous =
            accept(listener, &greeting(token, before)).map_err(|reason| Error::NeighbourAbsent { rank: before, reason })?;
        for stream in [&next, &previous] {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(patience))?;
        }
        Ok(Self { rank, late: Duration::ZERO, ranks, next, previous })
    }

    /// Everybody's `own`, in order of ranks. All must give equally many bytes.
    pub(crate) fn all_gather(&mut self, own: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = vec![0; own.len() * self.ranks];
        self.part(&mut all, 0).copy_from_slice(own);
        let mut passing = own.to_vec();
        let mut coming = vec![0; own.len()];
        for back in 1..self.ranks {
            self.exchange(&passing, &mut coming)?;
            self.part(&mut all, back).copy_from_slice(&coming);
            std::mem::swap(&mut passing, &mut coming);
        }
        Ok(all)
    }

    /// The sum over all ranks, element by element. Their number must be a multiple of the ranks'.
    pub(crate) fn all_reduce(&mut self, values: &mut [f32]) -> io::Result<()> {
        debug_assert_eq!(values.len() % self.ranks, 0, "equal parts for all ranks");
        let mut outgoing = Vec::with_capacity(values.len() / self.ranks * 4);
        let mut incoming = vec![0; values.len() / self.ranks * 4];
        for back in 0..self.ranks - 1 {
            encode(self.part(values, back), &mut outgoing);
            self.exchange(&outgoing, &mut incoming)?;
            for (sum, value) in self.part(values, back + 1).iter_mut().zip(decoded(&incoming)) {
                *sum += value;
            }
        }
        // The part of the rank after this one is summed up here; round it goes.
        for back in 0..self.ranks - 1 {
            encode(self.part(values, back + self.ranks - 1), &mut outgoing);
            self.exchange(&outgoing, &mut incoming)?;
            self.part(values, back).iter_mut().zip(decoded(&incoming)).for_each(|(sum, value)| *sum = value);
        }
        Ok(())
    }

    /// Nobody goes on before everybody has come.
    pub(crate) fn barrier(&mut self) -> io::Result<()> {
        self.all_gather(&[0]).map(drop)
    }

    /// The part of `all` that belongs to the rank `back` places before this one.
    fn part<'a, T>(&self, all: &'a mut [T], back: usize) -> &'a mut [T] {
        let each = all.len() / self.ranks;
        let owner = (self.rank + 2 * self.ranks - back) % self.ranks;
        &mut all[owner * each..][..each]
    }

    fn exchange(&mut self, outgoing: &[u8], incoming: &mut [u8]) -> io::Result<()> {
        for (outgoing, incoming) in outgoing.chunks(PIECE_BYTES).zip(incoming.chunks_mut(PIECE_BYTES)) {
            if !self.late.is_zero() {
                std::thread::sleep(self.late);
            }
            self.next.write_all(outgoing)?;
            self.previous.read_exact(incoming)?;
        }
        Ok(())
    }
}

fn greeting(token: u64, rank: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&token.to_le_bytes());
    bytes[8..].copy_from_slice(&(rank as u64).to_le_bytes());
    bytes
}

/// The first connection that begins with `expected`.
fn accept(listener: &TcpListener, expected: &[u8]) -> io::Result<TcpStream> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut said = vec![0; expected.len()];
        if stream.read_exact(&mut said).is_ok() && said == expected {
            return Ok(stream);
        }
    }
    Err(io::Error::other("only strangers connected"))
}

fn encode(values: &[f32], into: &mut Vec<u8>) {
    into.clear();
    into.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn decoded(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Runs `part` on every rank of a ring and returns what they answer, in order.
    fn on_all<T: Send>(ranks: usize, part: impl Fn(&mut Ring, usize) -> T + Sync) -> Vec<T> {
        let listeners: Vec<_> = (0..ranks).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let all: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        std::thread::scope(|scope| {
            let run = |(rank, listener)| {
                let (all, part) = (&all, &part);
                scope.spawn(move || part(&mut Ring::meet(listener, rank, all, 7, PATIENCE).unwrap(), rank))
            };
            let running: Vec<_> = listeners.iter().enumerate().map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn sums_and_lists_are_the_same_everywhere() {
        for ranks in [2, 3, 4, 16] {
            // More than a piece for every rank, and not a whole number of pieces.
            let elements = ranks * 5_500;
            let expected: Vec<f32> = (0..elements).map(|at| (0..ranks).map(|rank| (rank * 10 + at % 7) as f32).sum()).collect();
            let answers = on_all(ranks, |ring, rank| {
                let mut values: Vec<f32> = (0..elements).map(|at| (rank * 10 + at % 7) as f32).collect();
                ring.all_reduce(&mut values).unwrap();
                ring.barrier().unwrap();
                (values, ring.all_gather(&[rank as u8, 5]).unwrap())
            });
            let listed: Vec<u8> = (0..ranks).flat_map(|rank| [rank as u8, 5]).collect();
            for (values, all) in answers {
                assert_eq!(values, expected);
                assert_eq!(all, listed);
            }
        }
    }

    #[test]
    fn nobody_leaves_before_everybody_has_entered() {
        let stays = on_all(4, |ring, rank| {
            // Without any order among the ranks, one of them comes late by itself often enough.
            let entered = Instant::now();
            match rank % 2 {
                0 => ring.barrier().unwrap(),
                _ => ring.all_gather(&[1]).map(drop).unwrap(),
            }
            (entered, Instant::now())
        });
        let latest = stays.iter().map(|(entered, _)| entered).max().unwrap();
        assert!(stays.iter().all(|(_, left)| left >= latest));
    }

    #[test]
    fn a_stranger_is_not_a_neighbour() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let knock = |bytes: &[u8]| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        };
        drop(knock(b"GET / HTTP/1.1\r\n\r\n"));
        let _neighbour = knock(&greeting(7, 3));
        let mut met = accept(&listener, &greeting(7, 3)).unwrap();
        met.write_all(b"here").unwrap();
    }
}
