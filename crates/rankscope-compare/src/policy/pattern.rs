//! Names with `*` and `?` in them. Nothing else is special: names of process groups may hold brackets.

/// Whether `pattern` means `name`: `*` stands for any letters, `?` for one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken: only that one need ever take more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_take_as_much_as_it_needs() {
        for (pattern, name, is_match) in [
            ("step_ns", "step_ns", true),
            ("step_ns", "step_ns@rank1", false),
            ("step_ns@rank*", "step_ns@rank12", true),
            ("step_ns@rank?", "step_ns@rank12", false),
            ("comm.all_reduce.*.busbw", "comm.all_reduce.float32.1024.busbw", true),
            ("comm.*.busbw", "comm.all_reduce.float32.1024.latency", false),
            ("*a*b*", "xxabab", true),
            ("*a*b", "xxaba", false),
            ("*", "", true),
            ("?", "", false),
            ("", "", true),
            ("wait@[0, 1]*", "wait@[0, 1] tp", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_are_no_trap() {
        assert!(!matches(&"*a".repeat(40), &format!("{}b", "a".repeat(4_000))));
    }
}
