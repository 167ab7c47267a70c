//! `ordo secret`: values go in, names come out.

use std::path::Path;

use ordo_api::access::SecretValue;
use serde_json::{Value, json};

use super::find::text;
use super::pages;
use super::talk::CommandSession;
use crate::cli::secret::{SecretSubcommand, SetArgs};
use crate::commands::confirm;
use crate::error::{Error, Exit, Result};
use crate::locate::path_segment;
use crate::output::{table, time};
use crate::secret_input;

pub(crate) async fn run(talk: &CommandSession, command: SecretSubcommand) -> Result<Exit> {
    match command {
        SecretSubcommand::Set(args) => set(talk, &args).await,
        SecretSubcommand::List(every) => pages::show_all(talk, "/v1/secrets", every, |items| human(talk, items)).await,
        SecretSubcommand::Reseal => {
            let done = talk.post_empty("/v1/store/reseal").await?;
            talk.value(&done, || {
                let count = match done["secrets"].as_u64() {
                    Some(1) => "1 secret is".to_owned(),
                    _ => format!("{} secrets are", done["secrets"]),
                };
                format!("{count} sealed with the first key; older ones can go\n")
            })?;
            Ok(Exit::Done)
        }
        SecretSubcommand::Remove(args) => {
            let name = &args.what.name;
            confirm::removal(&args, &format!("Remove secret {name} for good? Runs that refer to it fail."))?;
            let removed = talk.client.delete::<Value>(&path(name)).await?;
            talk.value(&removed, || {
                format!("removed secret {}; runs that refer to it fail\n", text(&removed, "name"))
            })?;
            Ok(Exit::Done)
        }
    }
}

fn path(name: &str) -> String {
    format!("/v1/secrets/{}", path_segment(name))
}

async fn set(talk: &CommandSession, args: &SetArgs) -> Result<Exit> {
    let name = &args.name.name;
    // Not repeated: whatever was typed there may be the value.
    if args.from.as_deref().is_some_and(|word| word != Path::new("-")) {
        return Err(Error::misused(
            "a value on the command line stays in the shell's history and can be seen by others",
        )
        .hint("pipe it in, or name a file with --value-file"));
    }
    let file = args.from.as_deref().or(args.value_file.as_deref());
    let value = secret_input::value(&format!("Value of {name} (not shown): "), file)?;
    let kept = talk.client.put::<Value, _>(&path(name), &SecretValue { value: value.as_str().to_owned() }).await?;
    talk.value(&kept, || format!("{name} is set; refer to it by {}\n", json!({ "secret": name })))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, items: &[Value]) -> String {
    if items.is_empty() {
        return "No secrets. Set one: ordo secret set NAME\n".to_owned();
    }
    let when =
        |item: &Value, field: &str| time::of(&item[field]).map(|at| time::ago(at, talk.now())).unwrap_or_default();
    let row = |item: &Value| vec![text(item, "name"), when(item, "created_at"), when(item, "updated_at")];
    table::rows(&["NAME", "CREATED", "CHANGED"], items.iter().map(row).collect(), talk.paint)
}
