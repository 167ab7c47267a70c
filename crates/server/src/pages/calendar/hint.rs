//! What a job as it is typed would meet in the week to come: a hint beside its form.

use ordo_api::forecast::ForecastFigures;
use ordo_engine::forecast::{ForecastGround, ProposedJob};
use ordo_model::Millis;
use ordo_model::forecast::Forecast;
use ordo_model::job::Definition;
use ordo_store::Fault;

use crate::pages::layout::context::PageContext;

/// A form is previewed at every key: what is there is read once in a while.
const GROUND_FRESH: Millis = Millis::from_secs(30);
const HOURS: u64 = 7 * 24;
/// How many labels are named.
const NAMED: usize = 3;

/// Nothing for a job without a schedule, or when there is nothing to say.
pub(crate) async fn hints(ctx: &PageContext, definition: &Definition) -> Result<Vec<String>, Fault> {
    if definition.trigger.schedule().is_none() {
        return Ok(Vec::new());
    }
    let bounds = (0..=HOURS).map(|hour| ctx.now.plus(Millis::from_hours(hour))).collect();
    let ground = ctx.app.kept.next_week.fresh(ctx.now, GROUND_FRESH, ctx.app.engine.forecast(bounds)).await?;
    Ok(said(&ground, definition))
}

fn said(ground: &ForecastGround, definition: &Definition) -> Vec<String> {
    let job = ProposedJob { definition: definition.clone(), took: None };
    let (before, after) = (ground.as_it_stands(), ground.with_proposed(&[job]));
    let mut hints = Vec::new();
    hints.extend(collision(&after, &definition.label));
    let (now, then) = (ForecastFigures::of(&before), ForecastFigures::of(&after));
    if then.saturated > now.saturated {
        hints.push(
            "Together with what fires already it asks for more slots than a pool has: some runs will wait.".to_owned(),
        );
    }
    hints
}

/// The fullest minute that the job has a part in.
fn collision(forecast: &Forecast, label: &str) -> Option<String> {
    // The job comes first, so it is named among the first of every minute that it has a part in.
    let met = forecast.collisions.iter().find(|one| one.jobs.first().is_some_and(|first| first == label))?;
    let others: Vec<&str> = met.jobs.iter().skip(1).map(String::as_str).filter(|other| *other != label).collect();
    if others.is_empty() {
        return None;
    }
    let count = met.count as usize - 1;
    let named = others.iter().take(NAMED).copied().collect::<Vec<&str>>().join(", ");
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    let times = if met.times > 1 {
        format!(" {} times in the next 7 days", met.times)
    } else {
        " in the next 7 days".to_owned()
    };
    Some(format!("Fires in the same minute as {named}{more}{times}."))
}
