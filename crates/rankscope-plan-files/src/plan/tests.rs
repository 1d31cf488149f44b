//! Plans of every form, and what is none.

use rankscope_dispatch::{Rows, Shard, binary};
use rankscope_time::Rank;

use super::*;

const PLAN: &[u8] = br#"{"schema":1,"world_size":3,"rows":{"hidden_q":8,"hidden_kv":8,"lse":1,"element_bytes":2},
    "documents":[[[0,2,5],[1,0,0]],[],[[2,2,7]]],"note":"ours"}"#;

#[test]
fn every_form_is_the_same_plan() {
    let plan = read(PLAN).unwrap();
    for plan in [plan, read(SPLIT).unwrap(), read(HEADS).unwrap()] {
        let text = json(&plan.assignment, &plan.rows);
        for bytes in [text.into_bytes(), binary::encode(&plan.assignment, &plan.rows)] {
            assert_eq!(read(&bytes).unwrap(), plan);
        }
    }
}

const SPLIT: &[u8] = br#"{"schema":2,"rows":{"hidden_q":8,"hidden_kv":8,"lse":2,"element_bytes":2},
    "layout":[[[0,4],[1,4]],[]],"tasks":[[[0,4,0,4,0],[4,8,0,4,2],[4,8,4,8,1]],[]]}"#;
const HEADS: &[u8] = br#"{"head_groups":2,"documents":[[[0,0,4]],[[1,1,3]],[[0,1,4]],[[1,0,1],[1,1,2]]]}"#;

#[test]
fn a_plan_that_splits_is_none_for_programs_that_do_not() {
    let (split, heads) = (read(SPLIT).unwrap(), read(HEADS).unwrap());
    assert!(split.assignment.merges() && split.assignment.world_size() == 3);
    assert_eq!(heads.assignment.linear_tokens(), [4, 3]);
    for plan in [split, heads] {
        assert!(json(&plan.assignment, &plan.rows).starts_with("{\"schema\":2,"));
    }
}

#[test]
fn a_golden_case_is_a_plan() {
    let case = br#"{"inputs":{"world_size":2,"hidden_q":8,"hidden_k":4,"lse_size_elems":0,"element_size":2,"docs":"see below"},
        "docs":[[[1,1,1,4],[0,0,0,3]]]}"#;
    let plan = read(case).unwrap();
    assert_eq!(plan.assignment.layout().shards()[0], Shard { linear: Rank(0), attention: Rank(0), tokens: 3 });
    assert_eq!((plan.assignment.world_size(), plan.rows.hidden_kv), (2, 4));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let wrong = |text: &str| read(text.as_bytes()).err().unwrap().to_string();
    assert!(wrong(r#"{"documents":[[[0,1,"x"]]]}"#).contains("line 1 column"), "{}", wrong(r#"{"documents":[[[0,1,"x"]]]}"#));
    assert_eq!(wrong(r#"{"world_size":1,"documents":[[[0,1,5]]]}"#), "document 0, shard 0: rank 1 is not one of 0 to 0");
    assert!(wrong(r#"{"lengths":[1]}"#).contains("no plan"));
    assert!(wrong("[4096, 512]").contains("a JSON object with `documents`"));
    assert!(wrong(r#"{"world_size":1,"rows":{"hidden_q":1,"hidden_kv":1,"element_bytes":99}}"#).contains("of 16 bytes"));
    assert!(wrong(r#"{"world_size":4000000000}"#).contains("at most"));
    assert!(wrong(r#"{"schema":3,"documents":[]}"#).contains("schemas 1 and 2"));
    assert!(wrong(r#"{"layout":[[[0,4]]],"tasks":[]}"#).contains("1 of them here, and 0 lists"));
    assert!(wrong(r#"{"layout":[[[0,4]]],"tasks":[[[0,3,0,3,0]]]}"#).contains("no task computes query 3 with key 0"));
    assert!(wrong(r#"{"head_groups":2,"documents":[[[0,0,4]],[[0,0,5]]]}"#).contains("document 1 is none of the first group"));
    let changed = json(&read(PLAN).unwrap().assignment, &Rows::LLAMA_8B).replace("[0,2,5]", "[0,2,6]");
    assert!(wrong(&changed).contains("was changed"));
}
