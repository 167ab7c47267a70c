//! When a job runs: from what was typed to its trigger.

use ordo_model::Timestamp;
use ordo_model::job::Trigger;
use ordo_model::schedule::{Dst, Rule, Schedule};

use crate::cli::job::definition::TriggerArgs;
use crate::error::{Error, Result};
use crate::zone;

/// The trigger of a new job.
pub(crate) fn new(args: &TriggerArgs, now: Timestamp) -> Result<Trigger> {
    if let Some(trigger) = with_rule(args, now)? {
        return Ok(trigger);
    }
    if !has_options(args) && args.tz.is_none() {
        return Ok(Trigger::Manual);
    }
    Err(Error::misused("there is no schedule to which the options belong").hint("add --at, --in, --every or --cron"))
}

/// The trigger of a job after a change: a new rule replaces it, options alone are laid over it.
pub(crate) fn changed(args: &TriggerArgs, now: Timestamp, old: &Trigger) -> Result<Option<Trigger>> {
    if let Some(mut trigger) = with_rule(args, now)? {
        keep_zone(&mut trigger, old, args);
        return Ok(Some(trigger));
    }
    let only_for_times = args.start.is_some() || args.end.is_some();
    let zone = args.tz.as_ref().filter(|_| is_cron(old) || !only_for_times);
    if zone.is_some() && !is_cron(old) {
        return Err(Error::misused("--tz belongs to a cron schedule, and this job has none"));
    }
    if !has_options(args) && zone.is_none() {
        return Ok(None);
    }
    let Trigger::Scheduled(schedule) = old else {
        let error = Error::misused("there is no schedule to which the options belong");
        return Err(error.hint("add --at, --in, --every or --cron"));
    };
    let mut schedule = schedule.clone();
    if let (Rule::Cron { timezone, .. }, Some(zone)) = (&mut schedule.rule, zone) {
        timezone.clone_from(zone);
    }
    Ok(Some(Trigger::Scheduled(with_options(schedule, args, now)?)))
}

/// Another expression is read in the zone of the one before, and treats clock changes as that did, unless others are
/// named: whoever moves a job by an hour does not move it to another country.
fn keep_zone(new: &mut Trigger, old: &Trigger, args: &TriggerArgs) {
    let (Trigger::Scheduled(new), Trigger::Scheduled(old)) = (new, old) else { return };
    if let (Rule::Cron { timezone, dst, .. }, Rule::Cron { timezone: old_zone, dst: old_dst, .. }) =
        (&mut new.rule, &old.rule)
    {
        if args.tz.is_none() {
            timezone.clone_from(old_zone);
        }
        *dst = Dst {
            skipped: args.dst_skipped.unwrap_or(old_dst.skipped),
            repeated: args.dst_repeated.unwrap_or(old_dst.repeated),
        };
    }
}

fn is_cron(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::Scheduled(Schedule { rule: Rule::Cron { .. }, .. }))
}

fn with_rule(args: &TriggerArgs, now: Timestamp) -> Result<Option<Trigger>> {
    if let Some(slug) = &args.on_hook {
        if has_options(args) {
            return Err(Error::misused("a hook has no schedule: leave the options of one out"));
        }
        return Ok(Some(Trigger::Webhook { hook: slug.clone() }));
    }
    let Some(rule) = rule(args, now)? else { return Ok(None) };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    Ok(Some(Trigger::Scheduled(with_options(schedule, args, now)?)))
}

fn rule(args: &TriggerArgs, now: Timestamp) -> Result<Option<Rule>> {
    if let Some(text) = &args.at {
        return Ok(Some(Rule::At { at: time(args, "--at", text, now)? }));
    }
    if let Some(after) = args.after {
        return Ok(Some(Rule::At { at: now.plus(after) }));
    }
    if let Some(every) = args.every {
        return Ok(Some(Rule::Every { every }));
    }
    let timezone = args.tz.clone().unwrap_or_else(|| "UTC".to_owned());
    Ok(args.cron.clone().map(|expr| Rule::Cron { expr, timezone, dst: Dst::default() }))
}

fn has_options(args: &TriggerArgs) -> bool {
    args.start.is_some()
        || args.end.is_some()
        || args.jitter.is_some()
        || !args.exclude.is_empty()
        || args.dst_skipped.is_some()
        || args.dst_repeated.is_some()
}

/// Everything besides the rule.
fn with_options(mut schedule: Schedule, args: &TriggerArgs, now: Timestamp) -> Result<Schedule> {
    for (flag, text, field) in [("--start", &args.start, &mut schedule.start), ("--end", &args.end, &mut schedule.end)]
    {
        if let Some(text) = text {
            *field = Some(time(args, flag, text, now)?);
        }
    }
    schedule.jitter = args.jitter.or(schedule.jitter);
    if !args.exclude.is_empty() {
        schedule.exclude.clone_from(&args.exclude);
    }
    if let Rule::Cron { dst, .. } = &mut schedule.rule {
        *dst = Dst {
            skipped: args.dst_skipped.unwrap_or(dst.skipped),
            repeated: args.dst_repeated.unwrap_or(dst.repeated),
        };
    }
    Ok(schedule)
}

fn time(args: &TriggerArgs, flag: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    zone::parse(flag, text, &zone::asked(args.tz.as_deref())?, now)
}
