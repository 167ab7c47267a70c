//! Alternatives that are distinguished by `type`: each becomes a component of its own, and the whole says how to choose.
//! Generators make a class of each; without a name they would make one up, or give up.

use serde_json::{Value, json};

use super::component;
use super::schemas::Schemas;

pub(super) fn name(schemas: &mut Schemas) {
    let named: Vec<(String, Vec<(String, Value)>)> =
        schemas.iter().filter_map(|(name, schema)| Some((name.clone(), tagged(schema)?))).collect();
    for (name, alternatives) in named {
        let mut mapping = json!({});
        let mut references = Vec::new();
        for (tag, alternative) in alternatives {
            let own = format!("{name}{}", pascal(&tag));
            mapping[tag] = component(&own)["$ref"].clone();
            references.push(component(&own));
            schemas.insert(own, alternative);
        }
        if let Some(schema) = schemas.get_mut(&name) {
            schema["oneOf"] = Value::Array(references);
            schema["discriminator"] = json!({ "propertyName": "type", "mapping": mapping });
        }
    }
}

/// The alternatives with their tags, if all of them are objects with one.
fn tagged(schema: &Value) -> Option<Vec<(String, Value)>> {
    let alternatives = schema["oneOf"].as_array()?;
    alternatives
        .iter()
        .map(|alternative| match alternative["properties"]["type"]["enum"].as_array().map(Vec::as_slice) {
            Some([Value::String(tag)]) => Some((tag.clone(), alternative.clone())),
            Some(_) | None => None,
        })
        .collect()
}

fn pascal(tag: &str) -> String {
    tag.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
