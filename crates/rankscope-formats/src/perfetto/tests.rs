use rankscope_trace::Trace;

#[test]
fn an_empty_trace_is_a_file() {
    let mut bytes = Vec::new();
    super::write(&Trace::default(), &mut bytes).unwrap();
    assert!(!bytes.is_empty());
}
