//! Plays a page: in a folder of its own, with a server of its own, block by block.
//!
//! Invariant: a command that only looks is asked again until its output fits; one that changes something is typed once.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use crate::common::{Daemon, Ran, World, try_within};
use crate::expected::{ANY, fits};
use crate::page::{DocumentPage, FencedBlock, Marker};
use crate::ports::{DEFAULT, Ports};
use crate::root;
use crate::shell::ShellSession;

/// Commands that change nothing; what they show may take a moment to be so.
const LOOKS: [&str; 9] = ["list", "show", "logs", "deliveries", "history", "stats", "executors", "status", "preview"];
/// How long a command that looks is asked again: only what is wrong takes this long.
const LOOKED_FOR: Duration = Duration::from_secs(60);
/// A line of a session that stops the server of the current folder.
const STOP: &str = "^C";
const LOOKING_PROGRAMS: [&str; 5] = ["cat ", "tail ", "grep ", "ls ", "jq "];

struct Playback {
    world: World,
    ports: Ports,
    shell: ShellSession,
    /// By the folder they were started in and the address they listen on.
    servers: BTreeMap<(String, String), Daemon>,
    /// Somebody stopped a server: none is started unless the page says so.
    stopped: bool,
    /// What the shell and the servers see besides.
    environment: Vec<(&'static str, String)>,
    _database: Option<(ordo_store_postgres::testing::TestServer, String)>,
}

/// One command with what the page says comes of it.
#[derive(Debug, Default)]
struct TypedCommand {
    typed: String,
    expected: Vec<String>,
    exit: i32,
}

pub(crate) fn play(page: &DocumentPage) -> Result<(), String> {
    let mut playback = None;
    for block in &page.blocks {
        let at = |why: String| format!("{}:{}: {why}", page.name, block.line);
        if let Some(Marker::NotRun(reason)) = &block.marker {
            if reason.is_empty() {
                return Err(at("not run, without a reason".to_owned()));
            }
            continue;
        }
        let playback = playback.get_or_insert_with(|| Playback::new(page));
        playback.block(block).map_err(at)?;
    }
    Ok(())
}

impl Playback {
    fn new(page: &DocumentPage) -> Playback {
        let world = World::new();
        for shared in ["examples", "deploy"] {
            std::os::unix::fs::symlink(root().join(shared), world.file(shared)).unwrap();
        }
        let programs = tempfile_folder(&world);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ordo"), programs.join("ordo")).unwrap();
        let ports = Ports::of(page.blocks.iter().map(|block| block.text.as_str()));
        let uses_database = page.blocks.iter().any(|block| block.text.contains("$DATABASE_URL"));
        let database = uses_database.then(|| {
            let server = ordo_store_postgres::testing::TestServer::join();
            let url = server.fresh_database();
            (server, url)
        });
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}:{}", programs.display(), ordo_store_postgres::testing::programs().display());
        let mut environment = vec![("PATH", path)];
        environment.extend(database.iter().map(|(_, url)| ("DATABASE_URL", url.clone())));
        let mut bash = world.bare("bash", &["--noprofile", "--norc"]);
        bash.envs(environment.clone());
        let shell = ShellSession::start(bash, &programs.join("typed.sh"));
        Playback { world, ports, shell, servers: BTreeMap::new(), stopped: false, environment, _database: database }
    }

    fn block(&mut self, block: &FencedBlock) -> Result<(), String> {
        if let Some(Marker::File(name)) = &block.marker {
            self.write(name, &block.text)?;
        }
        match (block.language.as_str(), &block.marker) {
            ("console", Some(Marker::Background)) => self.background(block),
            ("console", _) => steps(&block.text)?.iter().try_for_each(|step| self.step(step)),
            ("sh", None) => {
                self.serve_unless_begun()?;
                let step = TypedCommand {
                    typed: format!("set -e\n{}set +e", block.text),
                    expected: vec![ANY.to_owned()],
                    exit: 0,
                };
                self.step(&step)
            }
            ("toml", _) => self.reads("toml", &block.text, "ordo", &["config", "--config"]),
            ("python", _) => self.reads("py", &block.text, "python3", &["-m", "py_compile"]),
            ("js", _) => self.reads("mjs", &block.text, "node", &["--check"]),
            ("json", _) if !block.text.contains(ANY) => {
                let read = serde_json::from_str::<serde_json::Value>(&block.text);
                read.map(drop).map_err(|error| format!("not JSON: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// A file that the page shows; a new configuration counts from a new start on.
    fn write(&mut self, name: &str, text: &str) -> Result<(), String> {
        let file = self.world.file(name);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        std::fs::write(file, self.ports.actual(text)).map_err(|error| error.to_string())?;
        if name == "ordo.toml" && !self.servers.is_empty() {
            self.serve("ordo serve")?;
        }
        Ok(())
    }

    /// A snippet that a program must be able to read.
    fn reads(&mut self, ending: &str, text: &str, program: &str, args: &[&str]) -> Result<(), String> {
        let name = format!("snippet.{ending}");
        self.world.write(&name, text);
        let program = if program == "ordo" { env!("CARGO_BIN_EXE_ordo") } else { program };
        let output = self.world.bare(program, args).arg(&name).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    fn background(&mut self, block: &FencedBlock) -> Result<(), String> {
        self.serve_unless_begun()?;
        for (place, step) in steps(&block.text)?.iter().enumerate() {
            let typed = self.ports.actual(&step.typed);
            self.shell.run(&format!("( {typed} ) > .terminal-{}-{place} 2>&1 </dev/null &", block.line))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &TypedCommand) -> Result<(), String> {
        if step.typed.starts_with("ordo serve") {
            return self.serve(&step.typed);
        }
        if step.typed == STOP {
            return self.stop();
        }
        self.serve_unless_begun()?;
        let typed = self.ports.actual(&step.typed);
        let Playback { shell, ports, .. } = self;
        let mut once = || {
            let ran = shell.run(&typed)?;
            step.judge(&Ran { out: ports.written(&ran.out), ..ran })
        };
        if looks(&step.typed) { try_within(LOOKED_FOR, once) } else { once() }
    }

    fn serve_unless_begun(&mut self) -> Result<(), String> {
        if self.servers.is_empty() && !self.stopped { self.serve("ordo serve") } else { Ok(()) }
    }

    /// Stops the server that was started in the current folder.
    fn stop(&mut self) -> Result<(), String> {
        let folder = self.shell.folder()?;
        let key = self.servers.keys().find(|(started_in, _)| *started_in == folder).cloned();
        let server = key.and_then(|key| self.servers.remove(&key)).ok_or("there is no server to stop")?;
        server.stop();
        self.stopped = true;
        Ok(())
    }

    /// Starts a server, or starts it again.
    fn serve(&mut self, typed: &str) -> Result<(), String> {
        let folder = self.shell.folder()?;
        let listen = typed.split("--listen ").nth(1).and_then(|rest| rest.split(' ').next());
        let key = (folder.clone(), listen.unwrap_or(DEFAULT).to_owned());
        if let Some(before) = self.servers.remove(&key) {
            before.stop();
        }
        let listen = if listen.is_some() { String::new() } else { format!(" --listen 127.0.0.1:{DEFAULT}") };
        let typed =
            self.ports.actual(&format!("exec {}{}{listen}", env!("CARGO_BIN_EXE_ordo"), &typed["ordo".len()..]));
        let mut command = self.world.bare("bash", &["-c", &typed]);
        command.current_dir(&folder).envs(self.environment.clone());
        self.servers.insert(key, Daemon::start(command));
        Ok(())
    }
}

/// A folder for the runner's own files, out of the page's sight.
fn tempfile_folder(world: &World) -> std::path::PathBuf {
    let folder = world.file(".runner");
    std::fs::create_dir(&folder).unwrap();
    folder
}

impl TypedCommand {
    fn judge(&self, ran: &Ran) -> Result<(), String> {
        if ran.code != self.exit {
            return Err(format!("$ {}\nexit {} instead of {}:\n{}", self.typed, ran.code, self.exit, ran.out));
        }
        if !self.expected.is_empty() && !fits(&self.expected, &ran.out) {
            let expected = self.expected.join("\n");
            return Err(format!("$ {}\nexpected:\n{expected}\nactual:\n{}", self.typed, ran.out));
        }
        Ok(())
    }
}

fn looks(typed: &str) -> bool {
    let mut words = typed.split_whitespace().filter(|word| !word.starts_with('-'));
    match words.next() {
        Some("ordo") => words.take(2).any(|word| LOOKS.contains(&word)),
        Some("psql") => typed.contains("SELECT ") && !typed.contains("INSERT "),
        _ => LOOKING_PROGRAMS.iter().any(|program| typed.starts_with(program)),
    }
}

/// The commands of a session: `$ ` begins one, a backslash at the end of a line continues it, `[exit N]` is how it ended.
fn steps(text: &str) -> Result<Vec<TypedCommand>, String> {
    let mut steps: Vec<TypedCommand> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(first) = line.strip_prefix("$ ") {
            let mut typed = first.to_owned();
            while typed.ends_with('\\') {
                typed = format!("{typed}\n{}", lines.next().ok_or("a command that does not end")?);
            }
            steps.push(TypedCommand { typed, ..TypedCommand::default() });
            continue;
        }
        if line == STOP {
            steps.push(TypedCommand { typed: STOP.to_owned(), ..TypedCommand::default() });
            continue;
        }
        let step = steps.last_mut().ok_or("a session begins with a command: `$ …`")?;
        match line.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']')).and_then(|code| code.parse().ok()) {
            Some(code) => step.exit = code,
            None => step.expected.push(line.to_owned()),
        }
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(|line| line.is_empty()) {
            step.expected.pop();
        }
    }
    Ok(steps)
}

impl World {
    /// Another program, in this folder, with an environment that says nothing about Ordo.
    fn bare(&self, program: &str, args: &[&str]) -> Command {
        let ordo = self.command(&[]);
        let mut command = Command::new(program);
        for (name, value) in ordo.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(args).current_dir(self.path()).stdin(std::process::Stdio::null());
        command
    }
}
