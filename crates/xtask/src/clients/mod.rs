//! Clients that others generate from `/openapi.json`: each is made, checked strictly, and does what its user does first
//! (creates a job, triggers it, reads its run) against the real binary. The linters read the same document.
//!
//! Invariant: tools and generated code are kept below `target/clients`; code is generated again only for another
//! document.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::built_with_tests;
use crate::daemon::DaemonProcess;
use crate::npm::{self, quiet};
use crate::tree::target;
use crate::venv;

const REQUIREMENTS: &str = include_str!("requirements.txt");
const PACKAGES: &str = include_str!("package.json");
const PYTHON_CLIENT: &str = include_str!("python_client.py");
const OPENAPI_GENERATOR: &str = include_str!("openapi_generator.py");
const TYPESCRIPT_FETCH: &str = include_str!("typescript_fetch.ts");
const OPENAPI_TYPESCRIPT: &str = include_str!("openapi_typescript.ts");
const TSCONFIG: &str = include_str!("tsconfig.json");
const REDOCLY: &str = include_str!("redocly.yaml");
const SPECTRAL: &str = include_str!("spectral.yaml");
/// Tests and documents of generated code are not what is tried here.
const CODE_ONLY: &str = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false";

/// Returns a note when this machine cannot do it.
pub(crate) fn run() -> Result<Option<String>> {
    let Some(python) = venv::python() else {
        return Ok(Some("python3 with venv and pip is not installed (`apt-get install python3-venv`)".to_owned()));
    };
    if let Some(missing) = ["java", "node", "npm"].into_iter().find(|program| !npm::is_there(program)) {
        return Ok(Some(format!("{missing} is not installed")));
    }
    let workshop = Workshop::new(&python)?;
    let daemon = DaemonProcess::start(&built_with_tests("ordo")?)?;
    let tried = workshop.try_all(&daemon);
    daemon.stop()?;
    tried.map(|()| None)
}

/// The tools, and the folder they work in.
struct Workshop {
    folder: PathBuf,
    python: PathBuf,
    node: PathBuf,
}

impl Workshop {
    fn new(python: &Path) -> Result<Workshop> {
        let folder = std::path::absolute(target().join("clients")).context("where the clients are made")?;
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let python = venv::with(python, &folder.join("venv"), REQUIREMENTS)?;
        let node = npm::with(&folder.join("npm"), PACKAGES)?.join(".bin");
        Ok(Workshop { folder, python, node })
    }

    fn try_all(&self, daemon: &DaemonProcess) -> Result<()> {
        let document = self.document(daemon)?;
        let kept = self.folder.join("openapi.json");
        if std::fs::read_to_string(&kept).is_ok_and(|known| known == document) {
            println!("the document is the one of the last time: nothing is generated again");
        } else {
            let file = self.write("openapi-new.json", &document)?;
            self.lint(&file)?;
            self.generate(&file)?;
            std::fs::rename(&file, &kept).context("keeping the document")?;
        }
        self.check_and_use(daemon)
    }

    fn document(&self, daemon: &DaemonProcess) -> Result<String> {
        let program = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())";
        let url = format!("{}/openapi.json", daemon.url());
        let read = self.python("python").args(["-c", program, &url]).output().context("starting python")?;
        anyhow::ensure!(read.status.success(), "reading {url}: {}", String::from_utf8_lossy(&read.stderr));
        String::from_utf8(read.stdout).context("the document is no text")
    }

    fn lint(&self, document: &Path) -> Result<()> {
        let redocly = self.write("redocly.yaml", REDOCLY)?;
        let spectral = self.write("spectral.yaml", SPECTRAL)?;
        quiet(self.node("redocly").args(["lint", "--max-problems", "20", "--config"]).arg(redocly).arg(document))?;
        quiet(self.node("spectral").args(["lint", "--fail-severity", "hint", "--ruleset"]).arg(spectral).arg(document))
    }

    fn generate(&self, document: &Path) -> Result<()> {
        for name in ["python-client", "openapi-generator", "typescript-fetch", "openapi-typescript"] {
            let folder = self.folder.join(name);
            if folder.exists() {
                std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
            }
            std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let package = self.folder.join("python-client/ordo_python_client");
        let mut command = self.python("openapi-python-client");
        quiet(command.args(["generate", "--meta", "none", "--path"]).arg(document).arg("--output-path").arg(package))?;
        let options = ["--additional-properties=packageName=ordo_openapi_generator"];
        self.by_java("python", document, &self.folder.join("openapi-generator"), &options)?;
        self.by_java("typescript-fetch", document, &self.folder.join("typescript-fetch/generated"), &[])?;
        let types = self.folder.join("openapi-typescript/ordo.d.ts");
        quiet(self.node("openapi-typescript").arg(document).arg("-o").arg(types))
    }

    fn by_java(&self, generator: &str, document: &Path, to: &Path, options: &[&str]) -> Result<()> {
        let mut command = self.python("openapi-generator-cli");
        command.args(["generate", "--global-property", CODE_ONLY, "-g", generator, "-i"]);
        quiet(command.arg(document).arg("-o").arg(to).args(options))
    }

    /// The scripts are checked as strictly as the generated code, then run.
    fn check_and_use(&self, daemon: &DaemonProcess) -> Result<()> {
        let python_client = self.write("python-client/first.py", PYTHON_CLIENT)?;
        quiet(self.python("mypy").current_dir(self.folder.join("python-client")).args(["--strict", "."]))?;
        use_it(self.python("python").arg(python_client), daemon)?;
        let generator = self.write("openapi-generator/first.py", OPENAPI_GENERATOR)?;
        use_it(self.python("python").arg(generator), daemon)?;
        for (name, script) in [("typescript-fetch", TYPESCRIPT_FETCH), ("openapi-typescript", OPENAPI_TYPESCRIPT)] {
            self.write(&format!("{name}/first.ts"), script)?;
            self.write(&format!("{name}/tsconfig.json"), TSCONFIG)?;
            let folder = self.folder.join(name);
            quiet(self.node("tsc").current_dir(&folder).args(["-p", "."]))?;
            use_it(Command::new("node").arg(folder.join("built/first.js")), daemon)?;
        }
        Ok(())
    }

    fn python(&self, program: &str) -> Command {
        Command::new(self.python.join(program))
    }

    fn node(&self, program: &str) -> Command {
        Command::new(self.node.join(program))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}

fn use_it(command: &mut Command, daemon: &DaemonProcess) -> Result<()> {
    quiet(command.env("ORDO_URL", daemon.url()).env("ORDO_TOKEN", daemon.token()?))
}
