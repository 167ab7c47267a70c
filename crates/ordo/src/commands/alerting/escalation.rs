//! `ordo escalation add | list | show | update | remove`

use ordo_api::alerting::escalations::{DefinedIn, EscalationChainPatch, EscalationChainView, NewEscalationChain};
use ordo_engine::escalations::DEFAULT_ESCALATION;
use ordo_model::incident::{Escalation, EscalationStep};
use serde_json::Value;

use crate::cli::RefreshArgs;
use crate::cli::alerting::escalation::{EscalationAddArgs, EscalationSubcommand, EscalationUpdateArgs};
use crate::commands::confirm;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::locate::path_segment;
use crate::output::{table, time};

const PATH: &str = "/v1/escalations";

pub(crate) async fn run(talk: &CommandSession, command: EscalationSubcommand) -> Result<Exit> {
    match command {
        EscalationSubcommand::Add(args) => add(talk, args).await,
        EscalationSubcommand::List(every) => list(talk, every).await,
        EscalationSubcommand::Show(chain) => show(talk, &chain.name).await,
        EscalationSubcommand::Update(args) => update(talk, args).await,
        EscalationSubcommand::Remove(args) => {
            confirm::removal(&args, &format!("Remove escalation chain {}?", args.what.name))?;
            remove(talk, &args.what.name).await
        }
    }
}

fn one(name: &str) -> String {
    format!("{PATH}/{}", path_segment(name))
}

async fn add(talk: &CommandSession, args: EscalationAddArgs) -> Result<Exit> {
    let EscalationAddArgs { chain, steps, ack_timeout } = args;
    let escalation = Escalation { steps, ack_timeout };
    let added = talk.post(PATH, &NewEscalationChain { name: chain.name.clone(), escalation }).await?;
    talk.value(&added, || {
        let name = &chain.name;
        match name == DEFAULT_ESCALATION {
            true => format!("added escalation chain {name}: the next incident that names none takes it"),
            false => {
                format!("added escalation chain {name}: incidents that name it take it, as with --escalation {name}")
            }
        }
    })?;
    Ok(Exit::Done)
}

pub(crate) async fn list(talk: &CommandSession, every: RefreshArgs) -> Result<Exit> {
    pages::show_all(talk, PATH, every, |chains| human(talk, chains)).await
}

fn read(chain: &Value) -> Option<EscalationChainView> {
    serde_json::from_value(chain.clone()).ok()
}

fn human(talk: &CommandSession, chains: &[Value]) -> String {
    if chains.is_empty() {
        return "No chains. Add one: ordo escalation add default --step '#on-call'\n".to_owned();
    }
    let rows = chains.iter().filter_map(read).flat_map(|chain| rows(&chain)).collect();
    table::rows(&["CHAIN", "STEP", "AFTER", "NOTIFIES", "VIA", "FROM"], rows, talk.paint)
}

fn rows(chain: &EscalationChainView) -> Vec<Vec<String>> {
    let row = |(place, step): (usize, &EscalationStep)| {
        let via = step.via.clone().unwrap_or_else(|| "all channels".to_owned());
        let number = (place + 1).to_string();
        vec![chain.name.clone(), number, time::rough(step.after), step.notify.clone(), via, origin(chain).to_owned()]
    };
    chain.escalation.steps.iter().enumerate().map(row).collect()
}

fn origin(chain: &EscalationChainView) -> &'static str {
    match (chain.defined_in, chain.in_force) {
        (DefinedIn::Configuration, _) => "configuration",
        (DefinedIn::Store, true) => "store",
        (DefinedIn::Store, false) => "store, overridden",
    }
}

async fn show(talk: &CommandSession, name: &str) -> Result<Exit> {
    let chain = talk.get(&one(name)).await?;
    talk.value(&chain, || read(&chain).map_or_else(String::new, |chain| described(talk, &chain)))?;
    Ok(Exit::Done)
}

fn described(talk: &CommandSession, chain: &EscalationChainView) -> String {
    let mut pairs = vec![("name", chain.name.clone()), ("from", origin(chain).to_owned())];
    pairs.extend(chain.escalation.steps.iter().map(|step| ("step", step.to_string())));
    pairs.extend(chain.escalation.ack_timeout.map(|timeout| ("ack timeout", timeout.to_string())));
    pairs.extend(chain.updated_at.map(|at| ("changed", time::both(at, talk.now(), &talk.zone))));
    table::fields(&pairs, talk.paint)
}

async fn update(talk: &CommandSession, args: EscalationUpdateArgs) -> Result<Exit> {
    let EscalationUpdateArgs { chain, steps, ack_timeout, no_ack_timeout } = args;
    let name = chain.name;
    if steps.is_empty() && ack_timeout.is_none() && !no_ack_timeout {
        return Err(Error::misused("what should change?")
            .hint(format!("name it, as in: ordo escalation update {name} --step '#on-call'")));
    }
    let before: EscalationChainView = talk.client.get(&one(&name)).await?;
    let escalation = Escalation {
        steps: if steps.is_empty() { before.escalation.steps } else { steps },
        ack_timeout: if no_ack_timeout { None } else { ack_timeout.or(before.escalation.ack_timeout) },
    };
    let changed = talk.client.patch::<Value, _>(&one(&name), &EscalationChainPatch { escalation }, None).await?;
    talk.value(&changed, || format!("updated escalation chain {name}"))?;
    Ok(Exit::Done)
}

async fn remove(talk: &CommandSession, name: &str) -> Result<Exit> {
    let removed = talk.client.delete::<Value>(&one(name)).await?;
    talk.value(&removed, || format!("removed escalation chain {name}"))?;
    Ok(Exit::Done)
}
