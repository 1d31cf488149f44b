//! Who asks for what is on a shelf.
//!
//! Several may wait for one trace, and one who has just gone may be a page that asks for another step of it; so reading is given up when the last
//! of them has gone. What a client is, and how it is known to have gone, is the business of whoever opened the port.

/// Who asks.
pub trait Client: Send + Sync {
    /// Whether nobody is there any more to be answered. It is asked often, and by several threads, one after the other.
    fn is_gone(&self) -> bool;
}

/// Somebody who waits as long as it takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patient;

impl Client for Patient {
    fn is_gone(&self) -> bool {
        false
    }
}
