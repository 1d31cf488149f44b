//! A plan as a JSON text of which programs see the schema before anything else.

use rankscope_dispatch::{Assignment, HeadGroups, Rows, Shard, SplitTask};

use super::{KIND, SCHEMA, SPLIT_SCHEMA, hash};

/// A plan as JSON, one document per line.
#[must_use]
pub fn json<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> String {
    let plan = plan.into();
    let Rows { hidden_q, hidden_kv, lse, element_bytes } = rows;
    let groups = plan.head_groups();
    let is_whole = plan.whole().is_some() && groups == HeadGroups::ONE;
    let mut text = format!(
        "{{\"schema\":{},\"kind\":\"{KIND}\",\"plan_hash\":\"{}\",\"world_size\":{},\"rows\":{{\"hidden_q\":{hidden_q},\
         \"hidden_kv\":{hidden_kv},\"lse\":{lse},\"element_bytes\":{element_bytes}}}",
        if is_whole { SCHEMA } else { SPLIT_SCHEMA },
        hash(&plan, rows),
        plan.world_size()
    );
    if groups != HeadGroups::ONE {
        text += &format!(",\"head_groups\":{}", groups.get());
    }
    match plan.split() {
        None => {
            let shard = |shard: &Shard| format!("[{},{},{}]", shard.linear.0, shard.attention.0, shard.tokens);
            lists(&mut text, "documents", plan.layout().documents().map(|document| document.iter().map(shard).collect()));
        }
        Some(split) => {
            let shard = |shard: &Shard| format!("[{},{}]", shard.linear.0, shard.tokens);
            lists(&mut text, "layout", split.layout().documents().map(|document| document.iter().map(shard).collect()));
            let task = |SplitTask { queries, keys, rank, .. }: &SplitTask| {
                format!("[{},{},{},{},{}]", queries.start, queries.end, keys.start, keys.end, rank.0)
            };
            lists(&mut text, "tasks", split.documents().map(|(_, tasks)| tasks.iter().map(task).collect()));
        }
    }
    text += "}\n";
    text
}

/// A list of lists, one of them a line.
fn lists(text: &mut String, name: &str, lists: impl Iterator<Item = Vec<String>>) {
    *text += &format!(",\"{name}\":[");
    for (index, list) in lists.enumerate() {
        *text += if index == 0 { "\n[" } else { ",\n[" };
        *text += &list.join(",");
        text.push(']');
    }
    *text += "\n]";
}
