//! One shell per page, so that folders and variables carry over from command to command.
//!
//! Invariant: what a page started in it ends with it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::common::Ran;

/// A command that says nothing for this long hangs: a page has nothing that takes its time.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Ends the output of a command; the exit code follows.
const END: &str = "=ordo-docs-end=";

#[derive(Debug)]
pub(crate) struct ShellSession {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    script: std::path::PathBuf,
}

impl ShellSession {
    /// `command` is bash with its folder and environment.
    pub(crate) fn start(mut command: Command, script: &Path) -> ShellSession {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = piped.spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        writeln!(stdin, "exec 2>&1").unwrap();
        ShellSession { child, stdin, lines, script: script.to_owned() }
    }

    /// Types this and waits for its end; both streams are in `out`.
    pub(crate) fn run(&mut self, typed: &str) -> Result<Ran, String> {
        std::fs::write(&self.script, format!("{typed}\n")).map_err(|error| error.to_string())?;
        let script = self.script.display();
        writeln!(self.stdin, "source '{script}' </dev/null; printf '\\n{END}%d\\n' $?")
            .map_err(|error| error.to_string())?;
        let mut out = String::new();
        loop {
            let line = match self.lines.recv_timeout(SILENCE_MAX) {
                Ok(line) => line,
                Err(why) => return self.over(why, typed, out),
            };
            match line.strip_prefix(END) {
                Some(code) => {
                    // The line break before the end mark is ours.
                    let out = out.strip_suffix('\n').map(str::to_owned).unwrap_or(out);
                    let code = code.parse().map_err(|_| format!("not an exit code: {code}"))?;
                    return Ok(Ran { code, out, err: String::new() });
                }
                None => out.push_str(&format!("{line}\n")),
            }
        }
    }

    /// It said nothing for too long, or `set -e` ended the shell.
    fn over(&mut self, why: RecvTimeoutError, typed: &str, out: String) -> Result<Ran, String> {
        let ended = match why {
            // Its output is closed: it is ending, if it has not ended yet.
            RecvTimeoutError::Disconnected => self.child.wait().map(Some),
            RecvTimeoutError::Timeout => self.child.try_wait(),
        };
        match ended {
            Ok(Some(status)) => Ok(Ran { code: status.code().unwrap_or(-1), out, err: String::new() }),
            _ => Err(format!("it did not end: {typed}\n{out}")),
        }
    }

    pub(crate) fn folder(&mut self) -> Result<String, String> {
        Ok(self.run("pwd")?.out.trim().to_owned())
    }
}

impl Drop for ShellSession {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
