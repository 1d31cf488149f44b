//! What is read, and what is refused with its place.

use serde_json::json;

use super::*;

#[test]
fn lists_objects_and_cases_are_read() {
    let flat = Lengths::InOrder(vec![5, 7]);
    for value in [json!([5, 7]), json!({"doc_lens": [5, {"len": 7}]}), json!({"cases": [{"name": "a", "lengths": [5, 7]}]})] {
        assert_eq!(of_json(&value, None).unwrap().lengths, flat, "{value}");
    }
    let batches = of_json(&json!({"batches": [[5], [], [7, 1]], "tokens_per_rank": 8, "world_size": 3}), None).unwrap();
    assert_eq!(batches.lengths, Lengths::PerRank(vec![vec![5], vec![], vec![7, 1]]));
    assert_eq!((batches.tokens_per_rank, batches.world_size), (Some(8), Some(3)));
    let cases = json!({"cases": [{"name": "a", "lengths": [1]}, {"name": "b", "lengths": [5, 7]}]});
    assert_eq!(of_json(&cases, Some("b")).unwrap().lengths, flat);
    assert_eq!(of_json(&cases, Some("1")).unwrap().lengths, flat);
    assert_eq!(of_lines("# lengths\n5\n\n 7\n").unwrap().lengths, flat);
}

#[test]
fn cumulative_lengths_are_read_by_their_name_and_refused_without() {
    let read = |value: Value| of_json(&value, None).map(|documents| documents.lengths);
    assert_eq!(read(json!({"cu_seqlens": [0, 5, 5, 12]})).unwrap(), Lengths::InOrder(vec![5, 0, 7]));
    assert_eq!(read(json!({"cu_seqlens": [[0, 5], [0]]})).unwrap(), Lengths::PerRank(vec![vec![5], vec![]]));
    assert_eq!(read(json!({"lengths": [0, 5, 12]})).unwrap(), Lengths::InOrder(vec![0, 5, 12]));
    for lengths in [json!([0]), json!([0, 5, 3]), json!([0, 5, 5]), json!([[0, 5], []])] {
        assert!(read(lengths.clone()).is_ok(), "{lengths}");
    }
    let error = |value: Value| read(value).unwrap_err().to_string();
    for cumulative in [json!([0, 1000, 1500]), json!([[0, 5], [0, 7, 9]])] {
        assert!(error(cumulative).contains(r#"give {"cu_seqlens": [...]}"#));
    }
    assert!(of_lines("0\n1000\n1500\n").unwrap_err().to_string().contains("cu_seqlens"));
    assert!(error(json!({"cu_seqlens": [5, 7]})).contains("begins with 5"));
    assert!(error(json!({"cu_seqlens": [0, 7, 5]})).contains("5 after 7, at place 2"));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let error = |value: Value| of_json(&value, None).unwrap_err().to_string();
    assert_eq!(error(json!([5, -7])), "the list[1]: -7 is not a length in tokens");
    assert_eq!(error(json!({"doc_lens": [[5], [1, "x"]]})), "doc_lens[1][1]: \"x\" is not a length in tokens");
    assert_eq!(error(json!({"lengths": [1_u64 << 32]})), "lengths[0]: 4294967296 tokens are more than 4294967295");
    assert!(error(json!({"lens": []})).contains("doc_lens"));
    assert!(error(json!({"cases": [{}, {}]})).starts_with("2 cases"));
    assert!(of_lines("# nothing\n").unwrap_err().to_string().contains("no document"));
    assert!(error(json!({"kind": plan::KIND, "documents": [[[0, 0, 5]]]})).contains("a plan already"));
    assert!(of_lines("5\nseven\n").unwrap_err().to_string().contains("line 2: `seven` is not a length"));
}
