//! `$(NAME)` in commands and values: Kubernetes puts the value there before anything starts.

use std::collections::BTreeMap;

/// A reference to nothing stays as it is; `$$` is a dollar sign.
pub(super) fn expanded(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find('$') {
        out.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((value, after)) = reference(rest, env) {
            out.push_str(value);
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

fn reference<'a>(text: &'a str, env: &'a BTreeMap<String, String>) -> Option<(&'a str, &'a str)> {
    let (name, after) = text.strip_prefix('(')?.split_once(')')?;
    Some((env.get(name)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_everything_else_stays() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        for (text, result) in [
            ("x", "x"),
            ("$(A)-$(A)", "1-1"),
            ("$(B) $A ${A} $(A", "$(B) $A ${A} $(A"),
            ("$$(A)", "$(A)"),
            ("100$", "100$"),
        ] {
            assert_eq!(expanded(text, &env), result, "{text}");
        }
    }
}
