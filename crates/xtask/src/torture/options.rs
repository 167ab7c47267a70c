//! What `cargo xtask torture` is asked for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub(super) const USAGE: &str =
    "cargo xtask torture [--minutes 3] [--store redb|postgres] [--seed S] [--report DIR] [--ordo PATH]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreKind {
    Redb,
    Postgres,
}

#[derive(Debug)]
pub(super) struct TortureOptions {
    /// For each store.
    pub(super) seconds: i64,
    pub(super) stores: Vec<StoreKind>,
    pub(super) seed: Option<u64>,
    pub(super) report: Option<PathBuf>,
    pub(super) ordo: Option<PathBuf>,
}

impl TortureOptions {
    pub(super) fn parse(args: &[String]) -> Result<TortureOptions> {
        let stores = vec![StoreKind::Redb, StoreKind::Postgres];
        let mut options = TortureOptions { seconds: 180, stores, seed: None, report: None, ordo: None };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().with_context(|| format!("{name} needs a value\n\n{USAGE}"));
            match name.as_str() {
                "--minutes" => options.seconds = seconds(value()?)?,
                "--store" => options.stores = vec![store(value()?)?],
                "--seed" => options.seed = Some(value()?.parse().context("--seed wants a whole number")?),
                "--report" => options.report = Some(PathBuf::from(value()?)),
                "--ordo" => options.ordo = Some(std::path::absolute(value()?)?),
                unknown => bail!("unknown option {unknown:?}\n\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Half a minute is the least in which something can happen and be put right again.
pub(crate) fn seconds(minutes: &str) -> Result<i64> {
    match minutes.parse::<f64>() {
        #[expect(clippy::cast_possible_truncation, reason = "it is between half a minute and a week")]
        Ok(minutes) if (0.5..=10_080.0).contains(&minutes) => Ok((minutes * 60.0) as i64),
        _ => bail!("--minutes {minutes}: a number from 0.5 to 10080 is wanted"),
    }
}

fn store(name: &str) -> Result<StoreKind> {
    match name {
        "redb" => Ok(StoreKind::Redb),
        "postgres" => Ok(StoreKind::Postgres),
        _ => bail!("there is no store {name:?}: one of redb, postgres"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<TortureOptions> {
        TortureOptions::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn both_stores_for_three_minutes_unless_told_otherwise() {
        let options = parse("").unwrap();
        assert_eq!((options.seconds, options.seed), (180, None));
        assert_eq!(options.stores, [StoreKind::Redb, StoreKind::Postgres]);
        let options = parse("--minutes 0.5 --store postgres --seed 7 --report out").unwrap();
        assert_eq!((options.seconds, options.seed, options.report), (30, Some(7), Some(PathBuf::from("out"))));
        assert_eq!(options.stores, [StoreKind::Postgres]);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        for (line, said) in [
            ("--minutes 0", "a number from 0.5"),
            ("--store mysql", "one of redb, postgres"),
            ("--seed", "--seed needs a value"),
            ("--hours 3", "unknown option \"--hours\""),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
