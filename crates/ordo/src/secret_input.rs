//! Values that must not be seen on their way in: from a file, from a pipe, or typed without an echo.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// The value in a file, or on standard input; a person is asked for it.
pub(crate) fn value(prompt: &str, file: Option<&Path>) -> Result<Zeroizing<String>> {
    let unread = |from: &str, error: &dyn std::fmt::Display| Error::failed(format!("cannot read {from}: {error}"));
    let read = match file.filter(|path| *path != Path::new("-")) {
        Some(path) => std::fs::read_to_string(path).map_err(|error| unread(&path.display().to_string(), &error))?,
        None if file.is_none() && std::io::stdin().is_terminal() => {
            ask(prompt).map_err(|error| unread("the terminal", &error))?
        }
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| unread("standard input", &error))?;
            text
        }
    };
    let read = Zeroizing::new(read);
    let value = Zeroizing::new(one_line(&read).to_owned());
    if value.is_empty() {
        return Err(Error::failed("the value is empty").hint("pipe it in, or name a file with --value-file"));
    }
    Ok(value)
}

/// The newline behind a single line is the editor's; a text of several lines is left as it is.
fn one_line(text: &str) -> &str {
    match text.strip_suffix('\n') {
        Some(line) if !line.contains('\n') => line.strip_suffix('\r').unwrap_or(line),
        Some(_) | None => text,
    }
}

fn ask(prompt: &str) -> std::io::Result<String> {
    let mut err = std::io::stderr().lock();
    write!(err, "{prompt}")?;
    err.flush()?;
    let mut line = String::new();
    let read = {
        let _silence = EchoOff::begin()?;
        std::io::stdin().lock().read_line(&mut line)
    };
    writeln!(err)?;
    read.map(|_| line)
}

/// The terminal shows nothing of what is typed, until dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn begin() -> std::io::Result<EchoOff> {
        let before = tcgetattr(std::io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(EchoOff(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newline_behind_a_single_line_does_not_belong_to_it() {
        assert_eq!((one_line("abc\n"), one_line("abc\r\n"), one_line("abc")), ("abc", "abc", "abc"));
        assert_eq!(one_line("-----BEGIN\nx\n-----END\n"), "-----BEGIN\nx\n-----END\n");
        assert_eq!(one_line("\n"), "");
    }
}
