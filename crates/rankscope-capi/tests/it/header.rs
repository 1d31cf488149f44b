//! The header says what the library has.

use std::collections::BTreeSet;
use std::fs;

use crate::built::own;
use crate::symbols;

#[test]
fn every_symbol_is_declared_in_the_header() {
    let header = fs::read_to_string(own("include/rankscope.h")).unwrap();
    let missing: BTreeSet<String> =
        symbols::listed().into_iter().filter(|symbol| !header.contains(&format!("{symbol}("))).collect();
    // The switch is no function.
    assert_eq!(missing, BTreeSet::from(["rankscope_state".to_owned()]));
    assert!(header.contains("extern const uint64_t *const rankscope_state;"));
}

#[test]
fn versions_of_the_header_and_the_library_are_one() {
    let header = fs::read_to_string(own("include/rankscope.h")).unwrap();
    assert!(header.contains("#define RANKSCOPE_ABI_VERSION 1\n"));
    let script = fs::read_to_string(own("build.rs")).unwrap();
    assert!(script.contains("librankscope.so.1"), "the name of the library has the number of its interface");
}
