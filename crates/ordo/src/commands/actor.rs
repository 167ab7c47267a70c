//! Who brought something about, for people: `ci for ana (cli)`.

use serde_json::Value;

use super::find::text;

/// Of an event. What Ordo does by itself, and what is from before this was recorded, has no source worth a word.
pub(crate) fn who(event: &Value) -> String {
    let actor = &event["actor"];
    let name = for_whom(&text(actor, "name"), actor);
    match text(actor, "source").as_str() {
        "" | "ordo" | "unknown" => name,
        source => format!("{name} ({source})"),
    }
}

/// The name, and on whose behalf.
pub(crate) fn for_whom(name: &str, actor: &Value) -> String {
    match actor["on_behalf_of"].as_str() {
        Some(whom) => format!("{name} for {whom}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_actor_is_named_with_its_way_and_for_whom() {
        let event = |actor: Value| json!({ "actor": actor });
        let shown =
            |name: &str, source: &str| who(&event(json!({"name": name, "source": source, "on_behalf_of": null})));
        assert_eq!((shown("ci", "cli").as_str(), shown("ordo", "ordo").as_str()), ("ci (cli)", "ordo"));
        assert_eq!(shown("unknown", "unknown"), "unknown");
        assert_eq!(who(&event(json!({"name": "ci", "source": "api", "on_behalf_of": "ana"}))), "ci for ana (api)");
        assert_eq!(who(&json!({})), "", "a server of an earlier version says nothing");
    }
}
