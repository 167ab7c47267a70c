//! Schemathesis against the real binary: thousands of requests made from `/openapi.json`, right and wrong ones.
//!
//! Invariant: no answer is a fault of the server, and none is missing in the description. The daemon runs in a folder
//! of its own, without the shell tool, and is gone afterwards.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::built_with_tests;
use crate::daemon::DaemonProcess;
use crate::{tree, venv};

/// Another version makes up other requests.
const VERSION: &str = "schemathesis==4.32.5\n";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance,ignored_auth";
/// Requests per operation and kind of test: about a minute in all.
const EXAMPLES: u32 = 50;
/// The same requests every time, so that a failure is the change's own.
const SEED_IN_CI: &str = "1";
/// Writes a file wherever the request says; its answers are held against the description by the tests of the server.
const LEFT_OUT: &str = "/v1/store/backup";

/// Returns a note when this machine cannot do it.
pub(crate) fn run(args: &[String]) -> Result<Option<String>> {
    let seed = args.first().map_or(SEED_IN_CI, String::as_str);
    let Some(python) = venv::python() else {
        return Ok(Some("python3 with venv and pip is not installed (`apt-get install python3-venv`)".to_owned()));
    };
    let schemathesis = venv::with(&python, &tree::target().join("schemathesis"), VERSION)?.join("schemathesis");
    let daemon = DaemonProcess::start(&built_with_tests("ordo")?)?;
    let fuzzed = fuzz(&schemathesis, &daemon, seed);
    daemon.stop()?;
    fuzzed.map(|()| None)
}

fn fuzz(schemathesis: &Path, daemon: &DaemonProcess, seed: &str) -> Result<()> {
    let config = daemon.folder().join("schemathesis.toml");
    std::fs::write(&config, known_ids(daemon)?).context("writing schemathesis.toml")?;
    let description = format!("{}/openapi.json", daemon.url());
    let status = Command::new(schemathesis)
        .arg("--config-file")
        .arg(&config)
        .args(["run", &description, "--checks", CHECKS, "--exclude-path", LEFT_OUT])
        .args(["--header", &format!("Authorization: Bearer {}", daemon.token()?)])
        .args(["--max-examples", &EXAMPLES.to_string(), "--request-timeout", "20", "--seed", seed])
        .args(["--continue-on-failure", "--no-color", "--warnings", "off"])
        .current_dir(daemon.folder())
        .stdin(Stdio::null())
        .status()
        .context("starting schemathesis")?;
    if !status.success() {
        bail!("schemathesis found something: {status}");
    }
    Ok(())
}

/// Random ids name nothing: most requests get those of a job and of a run that are there. (A job to be cancelled does
/// not: the others would find it cancelled.)
fn known_ids(daemon: &DaemonProcess) -> Result<String> {
    let job = daemon.ordo(&["job", "add", "known", "--every", "1h", "--tool", "noop"], "/id")?;
    let run = daemon.ordo(&["job", "trigger", &job], "/run_id")?;
    let rule = |operations: &str, parameter: &str, value: &str| {
        format!("[[operations]]\n{operations}\nparameters = {{ \"path.{parameter}\" = \"{value}\" }}\n\n")
    };
    let jobs = "include-path-regex = '^/v1/jobs/\\{id\\}'\nexclude-method = 'DELETE'";
    let runs = "include-path-regex = '^/v1/runs/\\{id\\}'";
    let streams = "include-path = '/v1/streams/{stream}'";
    Ok([rule(jobs, "id", &job), rule(runs, "id", &run), rule(streams, "stream", &format!("ordo-job-{job}"))].concat())
}
