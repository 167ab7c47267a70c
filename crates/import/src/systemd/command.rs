//! One `Exec…=` line: its words, and how a shell has to write them.
//!
//! Invariant: a command is started word by word as systemd starts it. Only what systemd itself replaces (`$NAME`,
//! `${NAME}`) is left to a shell, and a specifier whose value is not in the files is refused.

use super::unit::UnitName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExecLine {
    pub(super) words: Vec<String>,
    /// A minus before the program: its failure does not count.
    pub(super) may_fail: bool,
    /// Something in it is replaced from the environment.
    pub(super) has_variables: bool,
    /// A sign before the program that asks for other rights.
    pub(super) has_rights: bool,
}

/// Several commands may stand on one line, with a semicolon between them.
pub(super) fn parse(line: &str, unit: &UnitName) -> Result<Vec<ExecLine>, String> {
    let words = split(line)?;
    let commands = words.split(|word| word == ";").filter(|words| !words.is_empty());
    commands.map(|words| command(words, unit)).collect()
}

fn command(words: &[String], unit: &UnitName) -> Result<ExecLine, String> {
    let mut words = words.iter().map(|word| resolved(word, unit)).collect::<Result<Vec<String>, String>>()?;
    let program = words.first().cloned().unwrap_or_default();
    let bare = program.trim_start_matches(['-', '@', ':', '+', '!', '|']).to_owned();
    let prefix = &program[..program.len() - bare.len()];
    if bare.is_empty() {
        return Err("has a command without a program".to_owned());
    }
    words[0] = bare;
    if prefix.contains('@') && words.len() > 1 {
        // The second word is only the name that the program is to see of itself.
        words.remove(1);
    }
    let has_variables = !prefix.contains(':') && words.iter().any(|word| word.replace("$$", "").contains('$'));
    if !has_variables && !prefix.contains(':') {
        words.iter_mut().for_each(|word| *word = word.replace("$$", "$"));
    }
    Ok(ExecLine { words, may_fail: prefix.contains('-'), has_variables, has_rights: prefix.contains(['+', '!']) })
}

impl ExecLine {
    /// As a line of a script.
    pub(super) fn in_shell(&self) -> String {
        let write = |word: &String| if self.has_variables { with_variables(word) } else { quoted(word) };
        let line = self.words.iter().map(write).collect::<Vec<_>>().join(" ");
        if self.may_fail { format!("{line} || true") } else { line }
    }
}

/// Nothing in it means anything to a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `$NAME` alone becomes as many words as it has; `${NAME}` stays part of its word.
fn with_variables(word: &str) -> String {
    if let Some(name) = word.strip_prefix('$')
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        return word.to_owned();
    }
    if !word.contains('$') {
        return quoted(word);
    }
    let mut text = String::from("\"");
    let mut rest = word;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("$$") {
            text.push_str("\\$");
            rest = after;
        } else if rest.starts_with("${") {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            text.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            if "$`\"\\".contains(next) {
                text.push('\\');
            }
            text.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    text.push('"');
    text
}

/// Specifiers whose value follows from the unit's name.
pub(super) fn resolved(word: &str, unit: &UnitName) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let specifier = rest[at + 1..].chars().next();
        match specifier {
            Some('%') => text.push('%'),
            Some('n') => text.push_str(&unit.to_string()),
            Some('N') => text.push_str(&unit.stem),
            Some('p') => text.push_str(unit.stem.split('@').next().unwrap_or_default()),
            Some('i' | 'I') => text.push_str(unit.stem.split_once('@').map_or("", |(_, instance)| instance)),
            Some(other) if other.is_ascii_alphabetic() => {
                return Err(format!("uses %{other}, whose value only systemd knows: write the value in its place"));
            }
            Some(_) | None => {
                text.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 1 + specifier.map_or(0, char::len_utf8)..];
    }
    text.push_str(rest);
    Ok(text)
}

/// Words with quotes and C-style escapes taken off.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut open: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => open.get_or_insert_default().push_str(&escape(&mut characters)?),
            (_, Some(mark)) if c == mark => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                open.get_or_insert_default();
            }
            (_, None) if c.is_whitespace() => words.extend(open.take()),
            _ => open.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("has a quote that is not closed: {line}"));
    }
    words.extend(open);
    Ok(words)
}

fn escape(characters: &mut std::str::Chars<'_>) -> Result<String, String> {
    let plain = match characters.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('s') => ' ',
        Some('x') => {
            let digits: String = characters.by_ref().take(2).collect();
            let code = u8::from_str_radix(&digits, 16).map_err(|_| format!("has an unknown escape \\x{digits}"))?;
            char::from(code)
        }
        Some(c @ ('\\' | '"' | '\'' | ';')) => c,
        Some(other) => return Ok(format!("\\{other}")),
        None => '\\',
    };
    Ok(plain.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> ExecLine {
        let unit = UnitName::parse("backup@home.service").unwrap();
        parse(line, &unit).unwrap().pop().unwrap()
    }

    #[test]
    fn words_are_those_that_systemd_starts() {
        for (line, words) in [
            ("/usr/bin/backup --full", vec!["/usr/bin/backup", "--full"]),
            (r#"/bin/sh -c 'echo "a b" | cat'"#, vec!["/bin/sh", "-c", r#"echo "a b" | cat"#]),
            (r"/bin/echo one\x20word two\ttabs", vec!["/bin/echo", "one word", "two\ttabs"]),
            ("/bin/date +%%F for %i of %p", vec!["/bin/date", "+%F", "for", "home", "of", "backup"]),
            ("@/bin/sh login-sh -c true", vec!["/bin/sh", "-c", "true"]),
            (":/bin/echo $HOME", vec!["/bin/echo", "$HOME"]),
            ("/bin/echo 5$$", vec!["/bin/echo", "5$"]),
        ] {
            assert_eq!(one(line).words, words, "{line}");
        }
        assert!(one("-/bin/false").may_fail);
        assert!(one("+/bin/true").has_rights);
        let unit = UnitName::parse("a.service").unwrap();
        assert_eq!(parse("/bin/a ; /bin/b", &unit).unwrap().len(), 2);
        assert!(parse("/bin/a %h", &unit).unwrap_err().contains("%h"));
        assert!(parse("/bin/a 'open", &unit).unwrap_err().contains("quote"));
    }

    #[test]
    fn what_systemd_replaces_a_shell_replaces() {
        for (line, script) in [
            ("/bin/a $OPTIONS", "/bin/a $OPTIONS"),
            ("/bin/a --to=${TO} \"it's\"", "/bin/a \"--to=${TO}\" 'it'\\''s'"),
            ("/bin/a ${X} 5$$", "/bin/a \"${X}\" \"5\\$\""),
            ("-/bin/a ${X}", "/bin/a \"${X}\" || true"),
            ("/bin/a \"x `y` ${X}\"", "/bin/a \"x \\`y\\` ${X}\""),
        ] {
            assert_eq!(one(line).in_shell(), script, "{line}");
        }
    }
}
