//! Percent signs: the first ends the command, and what follows goes to its standard input, one line for each.

/// The command, and what it reads.
pub(super) fn split(command: &str) -> (String, Option<String>) {
    let mut parts = pieces(command).into_iter();
    let program = parts.next().unwrap_or_default();
    let lines: Vec<String> = parts.collect();
    if lines.is_empty() {
        return (program, None);
    }
    let mut input = lines.join("\n");
    if !input.ends_with('\n') {
        input.push('\n');
    }
    (program, Some(input))
}

/// Cut at each `%`, except where a backslash stands before it; that backslash goes, any other stays.
fn pieces(command: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut notifications = command.chars().peekable();
    while let Some(notification) = notifications.next() {
        if notification == '%' {
            pieces.push(String::new());
            continue;
        }
        let Some(piece) = pieces.last_mut() else { continue };
        match (notification, notifications.peek()) {
            ('\\', Some('%')) => piece.extend(notifications.next()),
            // A backslash that is escaped itself does not escape what follows.
            ('\\', Some('\\')) => piece.extend(['\\'].into_iter().chain(notifications.next())),
            _ => piece.push(notification),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_first_percent_sign_ends_the_command_and_the_others_end_lines() {
        for (written, command, input) in [
            ("echo hi", "echo hi", None),
            ("mail joe%Hello%there", "mail joe", Some("Hello\nthere\n")),
            ("cat%", "cat", Some("\n")),
            ("cat%a%", "cat", Some("a\n")),
            (r"date +\%F", "date +%F", None),
            (r"date +\%F%in \% put", "date +%F", Some("in % put\n")),
            (r"echo a\nb \\", r"echo a\nb \\", None),
            (r"echo \\%x", r"echo \\", Some("x\n")),
        ] {
            assert_eq!(split(written), (command.to_owned(), input.map(str::to_owned)), "{written}");
        }
    }
}
