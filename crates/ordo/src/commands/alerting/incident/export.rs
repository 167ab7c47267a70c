//! `ordo incident export`: Markdown, to a file or to standard output.

use super::find;
use crate::cli::alerting::incident::ExportArgs;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::locate::query;
use crate::output;

pub(crate) async fn run(talk: &CommandSession, args: &ExportArgs) -> Result<Exit> {
    let id = find(talk, &args.incident.incident).await?;
    let path = format!("/v1/incidents/{id}/export{}", query(&[("timezone", args.tz.clone())]));
    let text = talk.client.get_text(&path).await?;
    match &args.file {
        Some(file) => std::fs::write(file, text)
            .map_err(|error| Error::failed(format!("cannot write {}", file.display())).detail(error.to_string()))?,
        None => output::print(&text)?,
    }
    Ok(Exit::Done)
}
