use proptest::prelude::*;
use rankscope_trace::TrackKind;

use super::*;
use crate::ArgsPolicy;

fn read_text(text: &str) -> Result<Trace, Error> {
    read(text.as_bytes(), &ReadOptions::default())
}

#[test]
fn empty() {
    assert!(matches!(read_text(""), Err(Error::Empty)));
}
