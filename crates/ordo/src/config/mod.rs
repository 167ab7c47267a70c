//! The configuration: `ordo.toml`, then `ORDO_*` variables, then flags. The later wins.

mod environment;
mod keys;
mod layers;
mod settings;

use std::collections::BTreeMap;
use std::path::Path as FilePath;

pub(crate) use keys::DEFAULT_NODE;
pub(crate) use layers::{ConfigLayers, Path, Setting, SettingOrigin};
pub(crate) use settings::{LogStyle, Settings};

use crate::environment as environment_of_process;
use crate::error::{Error, Result};

const FILE: &str = "ordo.toml";

/// A flag that was given: its name, the key it sets, its value.
pub(crate) type Flag = (&'static str, &'static str, String);

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) settings: Settings,
    pub(crate) layers: ConfigLayers,
}

impl Config {
    /// Of this process: its folder, its environment.
    pub(crate) fn load(file: Option<&FilePath>, flags: &[Flag]) -> Result<Config> {
        let variables = environment_of_process::all()
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
            .collect();
        Config::from(file, &variables, flags)
    }

    /// Whatever this machine is configured with, and these flags.
    pub(crate) fn of_nothing_but(flags: &[Flag]) -> Result<Config> {
        Config::from(None, &BTreeMap::new(), flags)
    }

    fn from(file: Option<&FilePath>, variables: &BTreeMap<String, String>, flags: &[Flag]) -> Result<Config> {
        let mut layers = ConfigLayers::defaults();
        environment::add_standard(&mut layers, variables).map_err(refused)?;
        if let Some((path, text)) = read_file(file)? {
            add_file(&mut layers, path, &text)?;
        }
        environment::add(&mut layers, variables).map_err(refused)?;
        for (name, key, value) in flags {
            let set = layers.set_text(Path::parse(key), value, SettingOrigin::Flag(name));
            set.map_err(|why| refused(format!("{name}: {why}")))?;
        }
        let settings = settings(&layers)?;
        Ok(Config { settings, layers })
    }
}

fn read_file(asked: Option<&FilePath>) -> Result<Option<(&FilePath, String)>> {
    let path = asked.unwrap_or(FilePath::new(FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(format!("{}: {error}", path.display()))),
    }
}

fn add_file(layers: &mut ConfigLayers, path: &FilePath, text: &str) -> Result<()> {
    let refuse = |why: String| refused(format!("{}: {why}", path.display()));
    let table = text.parse::<toml::Table>().map_err(|error| refuse(error.to_string()))?;
    layers.add_table(table, &SettingOrigin::File(path.to_owned())).map_err(refuse)
}

fn settings(layers: &ConfigLayers) -> Result<Settings> {
    serde_path_to_error::deserialize(toml::Value::Table(layers.to_table())).map_err(|error| {
        let key = error.path().to_string();
        let origin = layers.origin_of(&key).map(|origin| format!("{origin}: ")).unwrap_or_default();
        // toml says in a second line which key it means, and that is said already.
        let why = error.inner().to_string();
        refused(format!("{origin}{key}: {}", why.lines().next().unwrap_or_default()))
    })
}

fn refused(why: impl Into<String>) -> Error {
    Error::misused("the configuration is refused").detail(why)
}

/// One key of the configuration, for people.
#[derive(Debug, serde::Serialize)]
pub(crate) struct DescribedKey {
    pub(crate) key: String,
    pub(crate) kind: &'static str,
    pub(crate) default: Option<&'static str>,
    pub(crate) variable: Option<String>,
    pub(crate) about: &'static str,
}

/// Every key there is, whether it is set or not.
pub(crate) fn described_keys() -> Vec<DescribedKey> {
    let described = |(key, kind, default, about): (String, keys::ValueKind, _, _)| {
        let variable = environment::variable_of(&key);
        DescribedKey { key, kind: kind.name(), default, variable, about }
    };
    keys::described().map(described).collect()
}

/// Whether the configuration has this key.
#[cfg(test)]
pub(crate) fn known_key(path: &str) -> bool {
    keys::kind_of(&layers::Path::parse(path)).is_ok()
}

#[cfg(test)]
mod tests {
    use ordo_engine::PoolSizes;
    use ordo_model::Millis;
    use ordo_tools::ToolOptions;

    use super::*;

    fn load(file: &str, variables: &[(&str, &str)], flags: &[Flag]) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, file).unwrap();
        let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Config::from(Some(&path), &variables, flags)
    }

    fn refusal(file: &str) -> String {
        load(file, &[], &[]).unwrap_err().render(crate::output::style::Paint::for_stderr())
    }

    /// What a file says, or why not.
    fn said(text: &str) -> Result<(ConfigLayers, String)> {
        let mut layers = ConfigLayers::defaults();
        add_file(&mut layers, FilePath::new(FILE), text)?;
        let settings = format!("{:?}", settings(&layers)?);
        Ok((layers, settings))
    }

    #[test]
    fn fuzz_configuration() {
        ordo_fuzz::fuzz_text("configuration", include_str!("../../tests/corpus/configuration.txt"), |text| match said(
            text,
        ) {
            Ok((layers, settings)) => {
                let written = toml::to_string(&layers.to_table()).unwrap();
                assert_eq!(said(&written).unwrap().1, settings, "what is written down reads the same");
            }
            Err(refused) => {
                let why = refused.render(crate::output::style::Paint::for_stderr());
                assert!(why.contains(FILE), "{text:?} is refused, and not said where: {why}");
            }
        });
    }

    #[test]
    fn the_defaults_are_those_of_the_crates_that_use_them() {
        let settings = settings(&ConfigLayers::defaults()).unwrap();
        assert_eq!(settings.pools.sizes(), PoolSizes::default());
        assert_eq!(settings.store.cache_bytes, ordo_store_redb::CACHE_BYTES_DEFAULT);
        assert_eq!(ordo_server::RateLimits::from(settings.limits), ordo_server::RateLimits::default());
        assert_eq!(ToolOptions::from(settings.tools), ToolOptions::default());
    }

    #[test]
    fn file_then_variables_then_flags() {
        let file = "[serve]\nlisten = 'a:1'\ntick_rate = 5\ngrace = '9s'\n";
        let variables = [("ORDO_SERVE__LISTEN", "b:2"), ("ORDO_SERVE__TICK_RATE", "6s")];
        let config = load(file, &variables, &[("--listen", "serve.listen", "c:3".into())]).unwrap();
        let serve = config.settings.serve;
        assert_eq!(serve.listen, "c:3");
        assert_eq!((serve.tick_rate, serve.grace), (Millis::from_secs(6), Millis::from_secs(9)));
    }

    #[test]
    fn a_tool_of_ones_own_stands_beside_the_built_in_ones() {
        let file = "[tools.sdlc]\ncommand = 'sdlc'\nargs = ['next', '--for', '{slug}']\n[tools.shell]\nenabled = false";
        let tools = load(file, &[], &[]).unwrap().settings.tools;
        assert_eq!(tools.named["sdlc"].args.len(), 3);
        assert!(!tools.shell.enabled);
    }

    #[test]
    fn the_standard_variables_for_spans_count_least() {
        let standard = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"), ("OTEL_SERVICE_NAME", "shop")];
        let telemetry = load("", &standard, &[]).unwrap().settings.telemetry;
        assert_eq!((telemetry.otlp_endpoint.as_deref(), telemetry.service_name.as_str()), (Some("http://a:1"), "shop"));
        let ours = [standard[0], ("ORDO_TELEMETRY__OTLP_ENDPOINT", "http://b:2"), ("ORDO_TELEMETRY__SAMPLE", "0.5")];
        let telemetry =
            load("[telemetry]\notlp_endpoint = 'http://c:3'\nsample = 1", &ours, &[]).unwrap().settings.telemetry;
        assert_eq!((telemetry.otlp_endpoint.as_deref(), telemetry.sample), (Some("http://b:2"), 0.5));
        assert_eq!(load("", &[], &[]).unwrap().settings.telemetry.otlp_endpoint, None);
        for wrong in ["2", "-0.1", "'half'", "true"] {
            assert!(refusal(&format!("[telemetry]\nsample = {wrong}")).contains("telemetry.sample"), "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key_and_its_origin() {
        assert!(refusal("[serve]\nlisen = 'x'").contains(r#"did you mean "serve.listen"?"#));
        assert!(refusal("[serve]\ntick_rate = 'soon'").contains("serve.tick_rate"));
        assert!(refusal("[serve]\ntick_rate = '2h'").contains("between 10ms and 1h"));
        assert!(refusal("[pools.fast]\nslots = 0").contains("at least 1"));
        assert!(refusal("[pools.fast]\nslots = 'x'").contains("ordo.toml"));
        assert!(refusal("[time]\nzones = 'latest'").contains("time.zones"));
        assert!(refusal("[tools.x]\nargs = []").contains("tools.x: missing field `command`"));
        let wrong = refusal("[tools.x]\ncommand = 'x'\nargs = 'a b'");
        assert!(wrong.contains("tools.x.args: invalid type: string") && wrong.contains("ordo.toml"), "{wrong}");
        assert!(refusal("[tools.x]\ncommand = 7").contains("tools.x.command: invalid type: integer"));
        assert!(refusal("[tools.shell]\nenabled = 'yes'").contains("tools.shell.enabled: invalid type"));
        assert!(refusal("[serve\n").contains("ordo.toml"));
    }
}
