//! Who is let in. On the loopback whoever calls us by a name of the loopback: a page of somebody else's that has its own name resolve to
//! this machine calls us by that. Elsewhere whoever has the token, which is compared in a time that tells nothing of it.

use std::fmt;

use constant_time_eq::constant_time_eq;

use crate::request::Request;
use crate::response::Refusal;

/// A secret that lets in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// As long as nobody guesses: 32 letters of `0` to `9` and `a` to `f`.
    pub fn of(secret: [u8; 16]) -> Self {
        Self(secret.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The text of it, for whoever is to have it.
    pub fn text(&self) -> &str {
        &self.0
    }

    fn is(&self, said: &str) -> bool {
        constant_time_eq(self.0.as_bytes(), said.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Token(..)")
    }
}

/// Who is let in at which port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    port: u16,
    token: Option<Token>,
}

impl Access {
    /// Whoever is on this machine.
    pub fn loopback(port: u16) -> Self {
        Self { port, token: None }
    }

    /// Whoever has the token.
    pub fn token(port: u16, token: Token) -> Self {
        Self { port, token: Some(token) }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The cookie that a browser gets which said the token, so that links need not.
    pub(crate) fn cookie(&self, request: &Request) -> Option<String> {
        let token = self.token.as_ref().filter(|token| request.target.value(QUERY).is_some_and(|said| token.is(said)))?;
        Some(format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), token.0))
    }

    /// Browsers send cookies to all ports of a machine.
    fn cookie_name(&self) -> String {
        format!("rankscope-{}", self.port)
    }

    /// Lets `request` in, or says why not.
    pub(crate) fn admit(&self, request: &Request) -> Result<(), Refusal> {
        let Some(token) = &self.token else {
            let is_ours = request.host.as_deref().is_some_and(|host| self.is_loopback(host));
            return if is_ours { Ok(()) } else { Err(Refusal::Host) };
        };
        let bearer = request.authorization.as_deref().and_then(|said| said.strip_prefix("Bearer "));
        let name = self.cookie_name();
        let cookies = request.cookie.as_deref().unwrap_or_default().split(';').filter_map(|pair| pair.trim().split_once('='));
        let cookie = cookies.filter(|(own, _)| *own == name).map(|(_, value)| value);
        let mut said = request.target.value(QUERY).into_iter().chain(bearer).chain(cookie);
        if said.any(|said| token.is(said.trim())) { Ok(()) } else { Err(Refusal::Token) }
    }

    fn is_loopback(&self, host: &str) -> bool {
        let port = self.port.to_string();
        let names = ["127.0.0.1", "localhost", "[::1]"];
        names.iter().any(|name| {
            let rest = host.get(..name.len()).filter(|own| own.eq_ignore_ascii_case(name)).and(host.get(name.len()..));
            rest.is_some_and(|rest| rest.strip_prefix(':') == Some(&port) || (rest.is_empty() && self.port == 80))
        })
    }
}

/// What the token is called in a query.
const QUERY: &str = "token";

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, rest: &str) -> Request {
        Request::parse(format!("GET {rest}\r\nHost: {host}\r\n\r\n").as_bytes()).expect("a request")
    }

    #[test]
    fn only_names_of_the_loopback_are_ours() {
        let access = Access::loopback(9001);
        let admits = |host: &str| access.admit(&request(host, "/ HTTP/1.1")).is_ok();
        assert!(["127.0.0.1:9001", "localhost:9001", "LOCALHOST:9001", "[::1]:9001"].into_iter().all(admits));
        let strangers =
            ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:9001", "127.0.0.1:9001.evil.example", ""];
        assert!(!strangers.into_iter().any(admits));
        assert_eq!(access.admit(&Request::parse(b"GET / HTTP/1.0\r\n\r\n").expect("a request")), Err(Refusal::Host));
    }

    #[test]
    fn a_token_lets_in_by_query_header_or_cookie() {
        let token = Token::of([7; 16]);
        let access = Access::token(9001, token.clone());
        let secret = token.text();
        let admits = |rest: &str| access.admit(&request("node7:9001", rest)).is_ok();
        assert!(admits(&format!("/?token={secret} HTTP/1.1")));
        assert!(admits(&format!("/ HTTP/1.1\r\nAuthorization: Bearer {secret}")));
        assert!(admits(&format!("/ HTTP/1.1\r\nCookie: a=b; rankscope-9001={secret}")));
        assert!(!admits(&format!("/ HTTP/1.1\r\nCookie: rankscope-9002={secret}")));
        assert!(!admits("/ HTTP/1.1") && !admits("/?token= HTTP/1.1") && !admits(&format!("/?token={}x HTTP/1.1", secret)));
        assert!(!format!("{access:?}").contains(secret));
    }
}
