//! Names as two runs share them: what differs from one process to the next is taken out, and nothing else.
//!
//! Addresses (`0x7f12…`) and hashes (sixteen hexadecimal digits or more) become `#`. Numbers stay: the 128 in a kernel's name is its tile,
//! and the `_0` at the end of a Triton kernel tells two kernels apart.

/// The shortest run of hexadecimal digits that is a hash.
const HASH_MIN: usize = 16;

/// `name` without addresses and hashes.
pub(crate) fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word.max(first.len_utf8()));
        normal.push_str(if is_address(word) || is_hash(word) { "#" } else { word });
        rest = after;
    }
    normal
}

fn is_address(word: &str) -> bool {
    word.strip_prefix("0x").is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Triton's signatures (`0d1d2de3de`) are hexadecimal by chance: a digit and one of `c`, `d` and `e` after the other.
fn is_hash(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
    word.len() >= HASH_MIN
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(u8::is_ascii_digit)
        && word.bytes().any(|byte| matches!(byte.to_ascii_lowercase(), b'a' | b'b' | b'f'))
}

/// What a collective moves, in a word: `all_reduce.float32.1048576`, as far as that is recorded.
pub(crate) fn collective(kind: &str, dtype: &str, elements: Option<u64>) -> String {
    let dtype = if dtype.is_empty() { "unknown" } else { dtype };
    let elements = elements.map_or_else(|| "unknown".to_owned(), |elements| elements.to_string());
    format!("{kind}.{dtype}.{elements}")
}

/// What an operator was called with, in short: `8x1024 BFloat16, 1024x1024 BFloat16`; as recorded where that is no list of shapes.
pub(crate) fn arguments(dims: &str, types: Option<&str>) -> String {
    let dims = &compact(dims);
    let Some(shapes) = items(dims) else { return dims.clone() };
    let types = types.and_then(items).filter(|types| types.len() == shapes.len()).unwrap_or_default();
    let word = |(index, shape): (usize, &&str)| {
        let kind = types.get(index).map_or("", |kind| kind.trim_matches('"').trim_start_matches("c10::"));
        match (shape.trim_start_matches('[').trim_end_matches(']'), kind) {
            ("" | "\"\"", "") => "-".to_owned(),
            ("" | "\"\"", kind) => kind.to_owned(),
            (sizes, kind) if !sizes.contains('[') => format!("{} {kind}", sizes.replace(' ', "").replace(',', "x")),
            (_, kind) => format!("{} {kind}", shape.replace(',', ", ")),
        }
    };
    let mut words: Vec<String> = shapes.iter().enumerate().map(word).map(|word| word.trim_end().to_owned()).collect();
    while words.last().is_some_and(|word| word == "-") {
        words.pop();
    }
    words.join(", ")
}

/// An operator with what it was called with.
pub(crate) fn call(operator: &str, arguments: &str) -> String {
    format!("{operator}({arguments})")
}

/// `json` without the white space between its words: two programs write the same list in two ways.
pub(crate) fn compact(json: &str) -> String {
    let mut is_quoted = false;
    let is_kept = |c: &char| {
        is_quoted ^= *c == '"';
        is_quoted || !c.is_whitespace()
    };
    json.chars().filter(is_kept).collect()
}

/// The outermost items of a list as JSON writes it.
fn items(list: &str) -> Option<Vec<&str>> {
    let inside = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let (mut items, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' if !quoted => depth += 1,
            b']' if !quoted => depth = depth.checked_sub(1)?,
            b',' if !quoted && depth == 0 => {
                items.push(inside[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !inside.trim().is_empty() {
        items.push(inside[from..].trim());
    }
    Some(items)
}

/// `text` with every number as `#`, and the numbers: two sizes of one shape share the first.
pub(crate) fn skeleton(text: &str) -> (String, Vec<&str>) {
    let (mut skeleton, mut numbers, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        skeleton.push_str(before);
        skeleton.push('#');
        numbers.push(&from[..end]);
        rest = &from[end..];
    }
    skeleton.push_str(rest);
    (skeleton, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_hashes_go_and_tiles_and_signatures_stay() {
        assert_eq!(normal("f(0x7f12ab34cd00)"), "f(#)");
        assert_eq!(normal("jit_3fa94bc0de1122ab_kernel"), "jit_#_kernel");
        for kept in
            ["gemm_128x64_tn", "triton_poi_fused_add_0", "add_0d1d2d3d4d5d6d7d8d9d", "void k<float, 4>(int*)", "größe", ""]
        {
            assert_eq!(normal(kept), kept);
        }
    }

    #[test]
    fn arguments_are_shapes_with_their_types() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", ""]"#;
        assert_eq!(arguments("[[8, 1024], [1024, 1024], []]", Some(types)), "8x1024 BFloat16, 1024x1024 BFloat16");
        assert_eq!(arguments("[[2,3],[]]", Some(r#"["float", "Scalar"]"#)), "2x3 float, Scalar");
        assert_eq!(arguments("[[8, 1024]]", None), "8x1024");
        assert_eq!(arguments("[\n  [8,\n   1024],\n []]", None), "8x1024");
        assert_eq!(arguments("[[[2], [3]]]", Some(r#"["TensorList"]"#)), "[[2], [3]] TensorList");
        assert_eq!(arguments("...", None), "...");
        // Two programs that write the same list.
        assert_eq!(
            arguments("[[[2],[3]],[]]", Some(r#"["TensorList",""]"#)),
            arguments("[[[2], [3]], []]", Some(r#"["TensorList", ""]"#))
        );
        assert_eq!(compact(r#"[ "a b", [1, 2] ]"#), r#"["a b",[1,2]]"#);
        assert_eq!(arguments("]", None), "]");
        assert_eq!(arguments("[]", None), "");
    }

    #[test]
    fn two_sizes_of_one_shape_have_one_skeleton() {
        assert_eq!(skeleton("8x1024 f"), ("#x# f".to_owned(), vec!["8", "1024"]));
        assert_eq!(skeleton("none"), ("none".to_owned(), vec![]));
    }
}
