//! Runs one command below a supervisor of its own, from intent to last line.
//!
//! Invariant: when a run returns, nothing that its command started is alive, and its record is gone from the book.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use ordo_engine::clock::new_id;
use ordo_engine::tool::{Failure, Work};
use serde_json::Value;

use super::environment::Environment;
use super::running_command::RunningCommand;
use crate::confinement::{Confinement, Limits};
use crate::launcher::Launcher;
use crate::launcher::confine::make_private_tmp;
use crate::launcher::protocol::{CgroupOrder, LaunchOrder, LaunchStep, NotStarted};
use crate::process::book::{Belongings, OpenRecord, PRIVATE_TMP_PREFIX, ProcessBook};
use crate::process::supervised::{LaunchError, Supervised};

/// One command, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
    pub stdin: Option<String>,
    /// Narrower ones than the tool has.
    pub limits: Limits,
}

/// What every tool that starts processes shares.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    book: ProcessBook,
    environment: Environment,
    launcher: Launcher,
}

impl ProcessRunner {
    pub fn new(book: ProcessBook, environment: Environment, launcher: Launcher) -> ProcessRunner {
        ProcessRunner { book, environment, launcher }
    }

    pub async fn sweep(&self) -> io::Result<usize> {
        self.book.sweep().await
    }

    pub async fn run(
        &self,
        mut invocation: Invocation,
        confinement: &Confinement,
        work: &Work,
    ) -> Result<Value, Failure> {
        if work.cancel.is_cancelled() {
            return Err(Failure::new("stopped before it was started"));
        }
        let own = invocation.stdin.take().map(Bytes::from);
        let stdin = own.or_else(|| work.payload.as_ref().map(|payload| payload.body.clone()));
        let (runner, asked, wants_tmp) = (self.clone(), work.clone(), confinement.has_private_tmp());
        let (process, entry) = aside(move || runner.prepare(wants_tmp, &asked)).await??;
        let order = self.order(&invocation, confinement, stdin.as_ref().map(Bytes::len), &entry, work);
        let outcome = run_to_end(process, &order, &stdin.unwrap_or_default(), &entry, work).await;
        let outcome = outcome.unwrap_or_else(|error| Err(invocation.explain_launch(&error)));
        aside(move || entry.close()).await?;
        outcome
    }

    /// Writes down what is about to be, makes it, and starts the supervisor, which waits for its order.
    fn prepare(&self, wants_tmp: bool, work: &Work) -> Result<(Supervised, OpenRecord), Failure> {
        let name = format!("{}-{}-{}", work.run_id, work.attempt, work.token.0);
        let belongings = Belongings {
            cgroup: self.launcher.cgroups().map(|home| home.of_attempt(&name)),
            private_tmp: wants_tmp.then(|| std::env::temp_dir().join(format!("{PRIVATE_TMP_PREFIX}{}", new_id()))),
        };
        let mut entry = self.book.intend(work, belongings).map_err(|error| unrecorded(&error))?;
        let prepared = self.make(&mut entry, work);
        match prepared {
            Ok(process) => Ok((process, entry)),
            Err(failure) => {
                entry.close();
                Err(failure)
            }
        }
    }

    fn make(&self, entry: &mut OpenRecord, work: &Work) -> Result<Supervised, Failure> {
        let Belongings { cgroup, private_tmp } = &entry.record().belongings;
        if let Some(Err(error)) = cgroup.as_ref().map(std::fs::create_dir) {
            // The supervisor knows by itself what belongs to the command.
            tracing::warn!(?cgroup, %error, "cannot make a cgroup for an attempt");
        }
        if let Some(folder) = private_tmp {
            let failed = |error| Failure::new(format!("not started: cannot make a private /tmp: {error}"));
            make_private_tmp(folder).map_err(failed)?;
        }
        let mut command = self.launcher.command();
        // By these it is found if its executor is killed.
        command.env_clear().env("ORDO_RUN_ID", work.run_id.to_string()).env("ORDO_FENCE", work.token.0.to_string());
        let process = Supervised::spawn(command)
            .map_err(|error| Failure::new(format!("cannot start a launcher for the command: {error}")))?;
        if let Some(pid) = process.pid() {
            entry.started(pid).map_err(|error| unrecorded(&error))?;
        }
        Ok(process)
    }

    fn order(
        &self,
        invocation: &Invocation,
        confinement: &Confinement,
        stdin: Option<usize>,
        entry: &OpenRecord,
        work: &Work,
    ) -> LaunchOrder {
        let Belongings { cgroup, private_tmp } = entry.record().belongings.clone();
        let outside = self.launcher.cgroups().map(|home| home.path().to_owned());
        LaunchOrder {
            program: invocation.program.clone(),
            args: invocation.args.clone(),
            env: self.environment.for_attempt(&invocation.env, confinement, work).into_iter().collect(),
            cwd: invocation.cwd.clone(),
            stdin,
            cgroup: cgroup.zip(outside).map(|(own, outside)| CgroupOrder { own, outside }),
            confined: confinement.of_attempt(invocation.limits, private_tmp),
        }
    }
}

/// From the start to the end of a command.
async fn run_to_end(
    mut process: Supervised,
    order: &LaunchOrder,
    stdin: &[u8],
    entry: &OpenRecord,
    work: &Work,
) -> Result<Result<Value, Failure>, LaunchError> {
    let launched = process.launch(order, stdin).await;
    if launched.is_err() {
        process.gone().await;
    }
    if !launched? && order.cgroup.is_some() {
        tracing::warn!(cgroup = ?order.cgroup, "a command could not be put into its cgroup");
    }
    Ok(RunningCommand::new(process, work.log.clone()).until_the_end(&work.cancel, entry).await)
}

/// Files and forks block; the threads of other runs do not wait for them.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(format!("interrupted while starting or ending the command: {error}")))
}

fn unrecorded(error: &io::Error) -> Failure {
    Failure::new(format!("not started: cannot write to the book of processes: {error}"))
}

impl Invocation {
    fn explain_launch(&self, error: &LaunchError) -> Failure {
        let not_started = match error {
            LaunchError::NotStarted(not_started) => not_started,
            LaunchError::Io(error) => return Failure::new(format!("cannot start {:?}: {error}", self.program)),
        };
        let NotStarted { step, .. } = not_started;
        let error = not_started.error();
        let what = match step {
            LaunchStep::Execute => return self.explain(&error),
            LaunchStep::Supervise => "its launcher",
            LaunchStep::PrivateTmp => "private_tmp",
            LaunchStep::User => "user",
            LaunchStep::Limits => "limits",
        };
        Failure::new(format!("cannot start {:?}: {what}: {error}", self.program))
    }

    fn explain(&self, error: &io::Error) -> Failure {
        if let Some(cwd) = self.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Failure::new(format!("working folder not found: {:?}", cwd.display().to_string()));
        }
        let program = &self.program;
        Failure::new(match error.kind() {
            io::ErrorKind::NotFound if program.contains('/') && self.program_exists() => {
                format!("cannot start {program:?}: the interpreter named in its first line is missing")
            }
            io::ErrorKind::NotFound => format!("command not found {program:?}{}", self.forgotten_args()),
            io::ErrorKind::PermissionDenied => {
                format!("cannot start {program:?}: permission denied (is it executable?)")
            }
            io::ErrorKind::ArgumentListTooLong => {
                format!("cannot start {program:?}: its arguments and environment are too long, use stdin")
            }
            _ => format!("cannot start {program:?}: {error}"),
        })
    }

    fn program_exists(&self) -> bool {
        self.cwd.as_deref().unwrap_or(".".as_ref()).join(&self.program).exists()
    }

    fn forgotten_args(&self) -> String {
        match self.program.split_once(char::is_whitespace) {
            Some((first, rest)) if self.args.is_empty() => {
                format!(
                    ": did you forget \"args\"? Write {{\"command\": {first:?}, \"args\": [{rest:?}]}} or use \"script\""
                )
            }
            _ => String::new(),
        }
    }
}
