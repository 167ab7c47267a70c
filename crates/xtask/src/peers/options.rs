//! What `cargo xtask peers` is asked for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::plan::{SYSTEMS, System, WORKLOADS, Workload};

pub(super) const USAGE: &str =
    "cargo xtask peers [--only SYSTEM,…] [--workloads W1,W2,…] [--rounds 3] [--quick] [--ordo PATH]";

#[derive(Debug)]
pub(super) struct Options {
    pub(super) systems: Vec<&'static System>,
    pub(super) workloads: Vec<&'static Workload>,
    pub(super) rounds: usize,
    /// Small numbers, no wait for a quiet machine: does everything work?
    pub(super) quick: bool,
    pub(super) ordo: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options {
            systems: SYSTEMS.iter().collect(),
            workloads: WORKLOADS.iter().collect(),
            rounds: 3,
            quick: false,
            ordo: None,
        };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().with_context(|| format!("{name} needs a value\n\n{USAGE}"));
            match name.as_str() {
                "--only" => options.systems = chosen("system", value()?, &SYSTEMS, |system| system.name)?,
                "--workloads" => {
                    options.workloads = chosen("workload", value()?, &WORKLOADS, |workload| workload.name)?;
                }
                "--rounds" => options.rounds = rounds(value()?)?,
                "--ordo" => options.ordo = Some(PathBuf::from(value()?)),
                "--quick" => options.quick = true,
                unknown => bail!("unknown option {unknown:?}\n\n{USAGE}"),
            }
        }
        if let Some(idle) = options.workloads.iter().find(|workload| !options.systems.iter().any(|s| workload.takes(s)))
        {
            bail!("{} is for Ordo alone, and --only leaves Ordo out", idle.name);
        }
        Ok(options)
    }
}

fn rounds(value: &str) -> Result<usize> {
    match value.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => bail!("--rounds {value}: a whole number above 0 is wanted"),
    }
}

/// Those of `all` that `list` names, in the order of `all`.
fn chosen<T>(what: &str, list: &str, all: &'static [T], name: fn(&T) -> &'static str) -> Result<Vec<&'static T>> {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|wanted| !all.iter().any(|one| name(one) == **wanted)) {
        let known: Vec<&str> = all.iter().map(name).collect();
        bail!("there is no {what} {unknown:?}: one of {}", known.join(", "));
    }
    Ok(all.iter().filter(|one| names.contains(&name(one))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn everything_is_measured_three_times_unless_told_otherwise() {
        let options = parse("").unwrap();
        assert_eq!((options.systems.len(), options.workloads.len(), options.rounds), (7, 6, 3));
        assert!(!options.quick);
    }

    #[test]
    fn systems_and_workloads_are_chosen_by_name() {
        let options = parse("--only bullmq,ordo --workloads W2 --rounds 1 --quick --ordo ./ordo").unwrap();
        let names: Vec<&str> = options.systems.iter().map(|system| system.name).collect();
        assert_eq!(names, ["ordo", "bullmq"]);
        assert_eq!(options.workloads.iter().map(|workload| workload.name).collect::<Vec<_>>(), ["W2"]);
        assert_eq!((options.rounds, options.quick, options.ordo), (1, true, Some(PathBuf::from("./ordo"))));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        for (line, said) in [
            ("--only redis", "no system \"redis\": one of ordo, ordo-postgres, graphile-worker"),
            ("--only", "--only needs a value"),
            ("--workloads W1,W9", "no workload \"W9\": one of W1, W2"),
            ("--rounds 0", "--rounds 0: a whole number above 0"),
            ("--rounds x", "--rounds x: a whole number above 0"),
            ("--fast", "unknown option \"--fast\""),
            ("--only bullmq --workloads W5", "W5 is for Ordo alone"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
