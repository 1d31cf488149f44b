//! Cross traffic: bursts of full packets towards every node, with random pauses, at a given mean rate.

use std::net::UdpSocket;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rankscope_clock::Rng;

use super::network::Network;

/// Payload of a full Ethernet frame.
const PAYLOAD_BYTES: usize = 1_472;
/// What such a packet takes of a link.
const FRAME_BITS: f64 = 8.0 * 1_514.0;
/// The discard port: nobody listens.
const PORT: u16 = 9;

/// Options of the hidden verb that sends.
#[derive(clap::Args)]
pub(crate) struct Args {
    to: String,
    mbit: f64,
    seed: u64,
}

/// Senders that end when this is dropped.
pub(crate) struct Traffic(Vec<Child>);

impl Drop for Traffic {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Gone already is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts one sender a node, each towards its neighbour.
pub(crate) fn start(network: &Network, load: f64, rate_mbit: u32, seed: u64) -> Result<Traffic> {
    let mut traffic = Traffic(Vec::new());
    if load > 0.0 {
        let myself = std::env::current_exe().context("failed to find this program")?;
        for node in 0..network.nodes {
            let to = Network::address((node + 1) % network.nodes);
            let mut command = Network::command(node, myself.as_os_str());
            command.args([
                "rig-traffic",
                &to,
                &(load * f64::from(rate_mbit)).to_string(),
                &(seed + u64::from(node)).to_string(),
            ]);
            traffic.0.push(command.stderr(Stdio::null()).spawn().context("failed to start cross traffic")?);
        }
    }
    Ok(traffic)
}

/// Sends until it is killed.
pub(crate) fn send(args: &Args) -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").context("failed to open a socket")?;
    socket.connect((args.to.as_str(), PORT)).with_context(|| format!("failed to reach {}", args.to))?;
    let mut rng = Rng::new(args.seed);
    let payload = [0u8; PAYLOAD_BYTES];
    let mut due = Instant::now();
    loop {
        let burst = 1 + rng.below(16);
        for _ in 0..burst {
            // Nobody listens, so every other send reports the port unreachable. That is no reason to stop.
            let _ = socket.send(&payload);
        }
        let mean_s = burst as f64 * FRAME_BITS / (args.mbit * 1e6);
        due += Duration::from_secs_f64(mean_s * rng.exponential());
        // Bursts that we are late for are sent at once: the mean rate is what was asked for.
        sleep(due.saturating_duration_since(Instant::now()));
    }
}
