//! What `cargo xtask soak` is asked for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::torture::options::seconds;

pub(super) const USAGE: &str = "cargo xtask soak [--minutes 15] [--seed S] [--report DIR] [--ordo PATH]";

#[derive(Debug)]
pub(super) struct SoakOptions {
    pub(super) seconds: i64,
    pub(super) seed: Option<u64>,
    pub(super) report: Option<PathBuf>,
    pub(super) ordo: Option<PathBuf>,
}

impl SoakOptions {
    pub(super) fn parse(args: &[String]) -> Result<SoakOptions> {
        let mut options = SoakOptions { seconds: 900, seed: None, report: None, ordo: None };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().with_context(|| format!("{name} needs a value\n\n{USAGE}"));
            match name.as_str() {
                "--minutes" => options.seconds = seconds(value()?)?,
                "--seed" => options.seed = Some(value()?.parse().context("--seed wants a whole number")?),
                "--report" => options.report = Some(PathBuf::from(value()?)),
                "--ordo" => options.ordo = Some(std::path::absolute(value()?)?),
                unknown => bail!("unknown option {unknown:?}\n\n{USAGE}"),
            }
        }
        Ok(options)
    }

    /// A few hundred samples, however long it takes.
    pub(super) fn sample_ms(&self) -> i64 {
        (self.seconds * 1_000 / 300).clamp(1_000, 30_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_an_hour_unless_told_otherwise() {
        let options = SoakOptions::parse(&[]).unwrap();
        assert_eq!((options.seconds, options.sample_ms()), (900, 3_000));
        let options = SoakOptions::parse(&["--minutes".to_owned(), "60".to_owned()]).unwrap();
        assert_eq!((options.seconds, options.sample_ms()), (3_600, 12_000));
        assert!(SoakOptions::parse(&["--hours".to_owned()]).is_err());
    }
}
