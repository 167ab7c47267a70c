//! Every key of the configuration, as `ordo config --keys` says.

use serde_json::Value;

use super::table;
use crate::common::World;

const HEAD: &str = "# Configuration

Values come from `ordo.toml` in the current folder (`--config FILE` names another), then from the environment, then from
flags; the later wins. A key that is not known is refused with what was probably meant. `ordo config` shows what is in
effect and where each value came from, `ordo config --keys` this list.

A duration is written `500ms`, `10s` or `1h30m`; a list in a variable `a,b` or as JSON. `NAME` and `VARIABLE` stand for
names of your own.

";

pub(super) fn page(world: &World) -> String {
    let keys = world.json(&["config", "--keys"]);
    let rows = keys.as_array().unwrap().iter().map(|key| {
        let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
        let variable = key["variable"].as_str().map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
        vec![format!("`{}`", text("key")), text("kind"), default(&key["default"]), variable, text("about")]
    });
    format!("{HEAD}{}", table(&["key", "kind", "default", "variable", "what for"], rows))
}

fn default(value: &Value) -> String {
    match value.as_str() {
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}
