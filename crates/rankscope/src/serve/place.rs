//! Where pages are served: a port of this machine, and who is let in there.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result, bail};
use rankscope_serve::{Access, Token};

/// A port that is ours.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) listener: TcpListener,
    pub(super) access: Access,
    address: SocketAddr,
    token: Option<Token>,
}

impl Place {
    /// Takes `address`. Others than this machine need a token there; so does everybody where `token` is wanted.
    pub(super) fn take(address: SocketAddr, token: bool) -> Result<Self> {
        let listener = match TcpListener::bind(address) {
            Ok(listener) => listener,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => bail!(taken(address)),
            Err(error) => return Err(error).with_context(|| format!("{address}: cannot be listened at")),
        };
        let address = listener.local_addr()?;
        let token = if token || !address.ip().is_loopback() { Some(secret()?) } else { None };
        let access = match &token {
            Some(token) => Access::token(address.port(), token.clone()),
            None => Access::loopback(address.port()),
        };
        Ok(Self { listener, access, address, token })
    }

    /// The address of `path` here, with the token where one is needed.
    pub(crate) fn url(&self, path: &str) -> String {
        let token = self.token.as_ref().map(|token| format!("?token={}", token.text()));
        format!("{}{path}{}", self.origin(), token.unwrap_or_default())
    }

    /// The address without a path.
    pub(crate) fn origin(&self) -> String {
        // Nobody can go to all addresses at once.
        let host = if self.address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { self.address.ip() };
        format!("http://{}", SocketAddr::new(host, self.address.port()))
    }

    /// Whether Perfetto's UI on its own site may fetch from here.
    pub(crate) fn perfetto_may_fetch(&self) -> bool {
        self.address == SocketAddr::from(([127, 0, 0, 1], PERFETTO_PORT))
    }
}

/// The only port from which ui.perfetto.dev lets its pages fetch.
pub(crate) const PERFETTO_PORT: u16 = 9001;

fn taken(address: SocketAddr) -> String {
    let free = TcpListener::bind(SocketAddr::new(address.ip(), 0)).and_then(|listener| listener.local_addr());
    let free = free.map_or_else(|_| String::new(), |free| format!("; {free} is free now"));
    format!(
        "{address}: the port is taken, perhaps by another rankscope serve. End what listens there, or take another port with --listen{free}"
    )
}

fn secret() -> Result<Token> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the system gives no random numbers for a token")?;
    Ok(Token::of(bytes))
}
