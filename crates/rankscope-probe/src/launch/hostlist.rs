//! Slurm's way of writing many hosts: `gpu[007-012,20],login1` stands for `gpu007`, …, `gpu012`, `gpu020`, `login1`.
//!
//! Only the first host is wanted, so nothing is expanded.

/// The first host of a list.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    // More than one bracket in a name is allowed: `rack[1-2]n[1-8]`.
    loop {
        let end = rest.find(['[', ',']).unwrap_or(rest.len());
        host.push_str(&rest[..end]);
        let Some(inside) = rest[end..].strip_prefix('[') else { break };
        let (inside, after) = inside.split_once(']')?;
        let number = inside.split([',', '-']).next()?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        host.push_str(number);
        rest = after;
    }
    let plausible = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (!host.is_empty() && host.bytes().all(plausible)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_keeps_its_zeros() {
        let table = [
            ("gpu[007-012,20],login1", Some("gpu007")),
            ("gpu7", Some("gpu7")),
            ("a,b", Some("a")),
            ("rack[3-4]n[1-8].cluster", Some("rack3n1.cluster")),
            ("n[4,1-2]-ib", Some("n4-ib")),
            ("", None),
            ("n[1-2", None),
            ("n[]", None),
            ("n[a-b]", None),
            ("two words", None),
        ];
        for (list, first) in table {
            assert_eq!(first_host(list).as_deref(), first, "{list}");
        }
    }
}
