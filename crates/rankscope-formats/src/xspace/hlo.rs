//! What the name and text of an HLO instruction say about a collective.
//!
//! An instruction is called after its opcode and numbered: `all-reduce.3`. TPU planes carry its whole text:
//! `%all-reduce.3 = bf16[8,128]{1,0} all-reduce(...), replica_groups={{0,1}}, ...`.

/// The collective the instruction `name` is, with the `-start` or `-done` of its asynchronous halves but without number.
pub(super) fn collective(name: &str) -> Option<&str> {
    let name = name.trim_start_matches('%').split(['.', ' ']).next()?;
    let opcode = name.strip_suffix("-start").or_else(|| name.strip_suffix("-done")).unwrap_or(name);
    COLLECTIVES.contains(&opcode).then_some(name)
}

/// The collective an NCCL or RCCL kernel runs: `AllReduce` of `ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)`.
pub(super) fn nccl_collective(kernel: &str) -> Option<&str> {
    let rest = ["ncclDevKernel_", "ncclKernel_"].iter().find_map(|prefix| kernel.strip_prefix(prefix))?;
    rest.split(['_', '(']).next().filter(|name| !name.is_empty())
}

/// Element type and number of elements of the first shape in `text`. Tuples are left alone: an asynchronous half's holds its
/// operands too, and counting those would double the size.
pub(super) fn shape(text: &str) -> Option<(&str, u64)> {
    let text = text.split_once(" = ").map_or(text, |(_, rest)| rest);
    let (dtype, rest) = text.split_once('[')?;
    let well_named = !dtype.is_empty() && dtype.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (dims, _) = rest.split_once(']').filter(|_| well_named)?;
    let mut elements = 1u64;
    for dim in dims.split(',').filter(|dim| !dim.is_empty()) {
        elements = elements.checked_mul(dim.trim_start_matches("<=").parse().ok()?)?;
    }
    Some((dtype, elements))
}

/// The replica groups in an instruction's text, as written.
pub(super) fn replica_groups(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("replica_groups=")?;
    let mut depth = 0i32;
    let end = rest.find(|c| {
        depth += match c {
            '{' | '[' | '(' => 1,
            '}' | ']' | ')' => -1,
            _ => 0,
        };
        depth < 0 || (depth == 0 && (c == ',' || c == ' '))
    });
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|groups| !groups.is_empty())
}

/// How many members the first of `groups` has: `{{0,1},{2,3}}`, or `[groups,members]<=[devices]`.
pub(super) fn group_size(groups: &str) -> Option<u32> {
    if let Some(rest) = groups.strip_prefix("{{") {
        let (first, _) = rest.split_once('}')?;
        return u32::try_from(first.split(',').count()).ok();
    }
    let (dims, _) = groups.strip_prefix('[')?.split_once(']')?;
    dims.rsplit(',').next()?.parse().ok()
}

const COLLECTIVES: [&str; 8] = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
    "all-reduce-scatter",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_are_told_by_their_opcode() {
        for (name, expected) in [
            ("all-reduce", Some("all-reduce")),
            ("all-reduce.3", Some("all-reduce")),
            ("all-gather-start.12.remat", Some("all-gather-start")),
            ("%collective-permute-done.1 = f32[2] x", Some("collective-permute-done")),
            ("all-reduce_fusion", None),
            ("reduce.1", None),
        ] {
            assert_eq!(collective(name), expected, "{name}");
        }
        assert_eq!(nccl_collective("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"), Some("AllReduce"));
        assert_eq!(nccl_collective("fusion_3"), None);
    }

    #[test]
    fn an_instruction_tells_shape_and_groups() {
        let text = "%all-reduce.1 = bf16[8,128]{1,0:T(8,128)} all-reduce(bf16[8,128] %x), replica_groups={{0,1},{2,3}}, y=1";
        assert_eq!(shape(text), Some(("bf16", 1024)));
        assert_eq!(replica_groups(text), Some("{{0,1},{2,3}}"));
        assert_eq!(group_size("{{0,1},{2,3}}"), Some(2));
        assert_eq!(group_size("[2,4]<=[8]"), Some(4));
        assert_eq!(shape("f32[]"), Some(("f32", 1)));
        assert_eq!(shape("%s = (f32[2], f32[2]) all-reduce-start"), None);
        assert_eq!(replica_groups("x, replica_groups=[2,4]<=[4,2]T(1,0), y"), Some("[2,4]<=[4,2]T(1,0)"));
    }
}
