//! `ordo config`: the effective configuration, and where each value came from.

use serde_json::{Value, json};

use crate::cli::Format;
use crate::config::{Config, Path, Setting, described_keys};
use crate::error::{Exit, Result};
use crate::output::style::Paint;
use crate::output::{self, table};
use crate::store_location::{without_credentials, without_password};

pub(crate) fn run(file: Option<&std::path::Path>, format: Format) -> Result<Exit> {
    let config = Config::load(file, &[])?;
    let items: Vec<Value> = config.layers.iter().map(|(path, setting)| item(path, setting)).collect();
    output::list(format, &items, || {
        let row = |item: &Value| vec![field(item, "key"), item["value"].to_string(), field(item, "from")];
        table::rows(&["KEY", "VALUE", "FROM"], items.iter().map(row).collect(), Paint::for_stdout())
    })?;
    Ok(Exit::Done)
}

/// Every key there is, whatever this configuration says.
pub(crate) fn keys(format: Format) -> Result<Exit> {
    let keys = described_keys();
    let items: Vec<Value> = keys.iter().map(|key| json!(key)).collect();
    output::list(format, &items, || {
        let row = |item: &Value| ["key", "kind", "default", "about"].map(|name| field(item, name)).to_vec();
        table::rows(&["KEY", "KIND", "DEFAULT", "WHAT FOR"], items.iter().map(row).collect(), Paint::for_stdout())
    })?;
    Ok(Exit::Done)
}

/// Of what may be a secret only that it is set is shown; variables of tools are as often as not. Addresses lose user,
/// password and query.
fn item(path: &Path, setting: &Setting) -> Value {
    let value = if path.is_secret() {
        json!("(set)")
    } else if let Some(url) = setting.value.as_str().filter(|text| crate::store_location::is_database(text)) {
        json!(without_password(url))
    } else if let Some(url) = setting.value.as_str().filter(|text| text.contains("://")) {
        json!(without_credentials(url))
    } else {
        serde_json::to_value(&setting.value).unwrap_or_default()
    };
    json!({ "key": path.to_string(), "value": value, "from": setting.origin.to_string() })
}

fn field(item: &Value, name: &str) -> String {
    item[name].as_str().unwrap_or_default().to_owned()
}
