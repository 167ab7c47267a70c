//! The form of a job: what somebody typed, and the job it stands for.
//!
//! Invariant: nothing that was typed is lost: a form that is refused comes back as it was.

use ordo_api::{Code, FieldError};
use ordo_model::Timestamp;
use ordo_model::job::{Block, Definition, Misfire, Routing, Trigger};
use ordo_model::limits::{BACKOFF_DEFAULT, BACKOFF_MAX, CATCH_UP_MAX, CATCH_UP_WINDOW_DEFAULT};
use ordo_model::schedule::Rule;
use serde_json::{Map, Value, json};

use crate::http::problem::Problem;
use crate::pages::jobs::actions::wall_time;
use crate::pages::jobs::exclusions;
use crate::pages::jobs::more_fields::{self, MoreFields};
use crate::pages::layout::moment::Times;

/// Everything as text, as a form has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobForm {
    pub(crate) label: String,
    pub(crate) description: String,
    /// The runbook.
    pub(crate) description_url: String,
    /// Separated by blanks or commas.
    pub(crate) tags: String,
    /// `script`, `http` or `json`.
    pub(crate) action: String,
    pub(crate) script: String,
    pub(crate) http_method: String,
    pub(crate) http_url: String,
    pub(crate) http_headers: String,
    pub(crate) http_body: String,
    pub(crate) tool_name: String,
    pub(crate) tool_input: String,
    /// `every`, `cron`, `at`, `webhook` or `manual`.
    pub(crate) when: String,
    pub(crate) every: String,
    pub(crate) cron: String,
    pub(crate) timezone: String,
    pub(crate) at: String,
    pub(crate) hook: String,
    /// The first and the last moment of its schedule, on the viewer's clock.
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) jitter: String,
    /// When it does not fire, one on each line.
    pub(crate) exclude: String,
    /// What becomes of a time that the clock skips, or repeats.
    pub(crate) dst_skipped: String,
    pub(crate) dst_repeated: String,
    pub(crate) misfire: String,
    /// How many missed times run, and how old they may be, if all of them run.
    pub(crate) misfire_cap: String,
    pub(crate) misfire_window: String,
    pub(crate) block: String,
    pub(crate) concurrent: String,
    pub(crate) attempts: String,
    pub(crate) backoff: String,
    pub(crate) max_backoff: String,
    pub(crate) timeout: String,
    pub(crate) priority: String,
    pub(crate) group: String,
    pub(crate) routing: String,
    pub(crate) retain_runs: String,
    pub(crate) retain_age: String,
    pub(crate) idempotent: bool,
    pub(crate) held: bool,
    /// Alerts, chains and limits.
    pub(crate) more: MoreFields,
}

impl JobForm {
    /// An empty form: what most people want.
    pub(crate) fn blank(zone: &str) -> JobForm {
        JobForm {
            label: String::new(),
            description: String::new(),
            description_url: String::new(),
            tags: String::new(),
            action: "script".into(),
            script: String::new(),
            http_method: "GET".into(),
            http_url: String::new(),
            http_headers: String::new(),
            http_body: String::new(),
            tool_name: String::new(),
            tool_input: "{}".into(),
            when: "cron".into(),
            every: "10m".into(),
            cron: "0 2 * * *".into(),
            timezone: zone.into(),
            at: String::new(),
            hook: String::new(),
            start: String::new(),
            end: String::new(),
            jitter: String::new(),
            exclude: String::new(),
            dst_skipped: "shift".into(),
            dst_repeated: "first".into(),
            misfire: "fire_once_now".into(),
            misfire_cap: CATCH_UP_MAX.to_string(),
            misfire_window: CATCH_UP_WINDOW_DEFAULT.to_string(),
            block: "serial".into(),
            concurrent: "4".into(),
            attempts: "1".into(),
            backoff: BACKOFF_DEFAULT.to_string(),
            max_backoff: BACKOFF_MAX.to_string(),
            timeout: "1h".into(),
            priority: "5".into(),
            group: Definition::DEFAULT_GROUP.into(),
            routing: routing_name(Routing::default()),
            retain_runs: "1000".into(),
            retain_age: "30d".into(),
            idempotent: false,
            held: false,
            more: MoreFields::blank(),
        }
    }

    pub(crate) fn read(pairs: &[(String, String)]) -> JobForm {
        let text = |name: &str| pairs.iter().find(|(key, _)| key == name).map_or_else(String::new, |(_, v)| v.clone());
        let line = |name: &str| text(name).trim().to_owned();
        let lines = |name: &str| text(name).replace("\r\n", "\n");
        JobForm {
            label: line("label"),
            description: line("description"),
            description_url: line("description_url"),
            tags: line("tags"),
            action: line("action"),
            script: lines("script"),
            http_method: line("http_method"),
            http_url: line("http_url"),
            http_headers: lines("http_headers"),
            http_body: lines("http_body"),
            tool_name: line("tool_name"),
            tool_input: lines("tool_input"),
            when: line("when"),
            every: line("every"),
            cron: line("cron"),
            timezone: line("timezone"),
            at: line("at"),
            hook: line("hook"),
            start: line("start"),
            end: line("end"),
            jitter: line("jitter"),
            exclude: lines("exclude").trim().to_owned(),
            dst_skipped: line("dst_skipped"),
            dst_repeated: line("dst_repeated"),
            misfire: line("misfire"),
            misfire_cap: line("misfire_cap"),
            misfire_window: line("misfire_window"),
            block: line("block"),
            concurrent: line("concurrent"),
            attempts: line("attempts"),
            backoff: line("backoff"),
            max_backoff: line("max_backoff"),
            timeout: line("timeout"),
            priority: line("priority"),
            group: line("group"),
            routing: line("routing"),
            retain_runs: line("retain_runs"),
            retain_age: line("retain_age"),
            idempotent: !line("idempotent").is_empty(),
            held: !line("held").is_empty(),
            more: MoreFields::read(pairs),
        }
    }

    pub(crate) fn of(definition: &Definition, times: &Times, zone: &str) -> JobForm {
        let mut fields = JobForm {
            label: definition.label.clone(),
            description: definition.description.clone().unwrap_or_default(),
            description_url: definition.description_url.clone().unwrap_or_default(),
            tags: definition.tags.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            tool_name: definition.tool_name.clone(),
            tool_input: serde_json::to_string_pretty(&definition.tool_input).unwrap_or_default(),
            attempts: definition.retry.max_attempts.to_string(),
            backoff: definition.retry.backoff.to_string(),
            max_backoff: definition.retry.max_backoff.to_string(),
            timeout: definition.timeout.to_string(),
            priority: definition.priority.to_string(),
            group: definition.group.clone(),
            routing: routing_name(definition.routing),
            retain_runs: definition.retention.runs.to_string(),
            retain_age: definition.retention.age.to_string(),
            idempotent: definition.idempotent,
            more: MoreFields::of(definition),
            ..JobForm::blank(zone)
        };
        fields.misfire = definition.misfire.name().into();
        if let Misfire::FireAll { cap, window } = definition.misfire {
            (fields.misfire_cap, fields.misfire_window) = (cap.to_string(), window.to_string());
        }
        (fields.block, fields.concurrent) = match definition.block {
            Block::Serial => ("serial".into(), fields.concurrent),
            Block::Discard => ("discard".into(), fields.concurrent),
            Block::Cover => ("cover".into(), fields.concurrent),
            Block::Concurrent { max } => ("concurrent".into(), max.to_string()),
        };
        fields.take_action(definition);
        fields.take_trigger(&definition.trigger, times);
        fields
    }

    /// A simple input has its own fields; any other is shown as JSON.
    fn take_action(&mut self, definition: &Definition) {
        let input = definition.tool_input.as_object().cloned().unwrap_or_default();
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        let only = |known: &[&str]| input.keys().all(|key| known.contains(&key.as_str()));
        let headers = input.get("headers").map_or(Some(String::new()), headers_text);
        match (definition.tool_name.as_str(), text("script"), text("url")) {
            ("shell", Some(script), _) if only(&["script"]) => {
                (self.action, self.script) = ("script".into(), script);
            }
            ("http", _, Some(url)) if only(&["method", "url", "headers", "body"]) && headers.is_some() => {
                if input.get("body").is_some_and(|body| !body.is_string()) {
                    self.action = "json".into();
                    return;
                }
                self.action = "http".into();
                self.http_url = url;
                self.http_method = text("method").unwrap_or_else(|| "GET".into());
                self.http_body = text("body").unwrap_or_default();
                self.http_headers = headers.unwrap_or_default();
            }
            _ => self.action = "json".into(),
        }
    }

    fn take_trigger(&mut self, trigger: &Trigger, times: &Times) {
        let schedule = match trigger {
            Trigger::Scheduled(schedule) => schedule,
            Trigger::Webhook { hook } => {
                (self.when, self.hook) = ("webhook".into(), hook.clone());
                return;
            }
            Trigger::Manual => {
                self.when = "manual".into();
                return;
            }
        };
        let wall = |time: Timestamp| times.local(time).strftime("%Y-%m-%dT%H:%M:%S%.f").to_string();
        (self.start, self.end) =
            (schedule.start.map_or_else(String::new, wall), schedule.end.map_or_else(String::new, wall));
        self.jitter = schedule.jitter.map_or_else(String::new, |jitter| jitter.to_string());
        self.exclude = exclusions::written(&schedule.exclude);
        match &schedule.rule {
            Rule::At { at } => (self.when, self.at) = ("at".into(), wall(*at)),
            Rule::Every { every } => (self.when, self.every) = ("every".into(), every.to_string()),
            Rule::Cron { expr, timezone, dst } => {
                (self.when, self.cron, self.timezone) = ("cron".into(), expr.clone(), timezone.clone());
                (self.dst_skipped, self.dst_repeated) = (name_of(dst.skipped), name_of(dst.repeated));
            }
        }
    }

    /// The job as a client would write it down; `zone` is that of wall-clock times.
    pub(crate) fn to_json(&self, zone: &str) -> Result<Map<String, Value>, Problem> {
        let mut job = Map::new();
        let mut put = |name: &str, value: Value| drop(job.insert(name.to_owned(), value));
        let (tool_name, tool_input) = self.tool()?;
        put("label", json!(self.label));
        if !self.description.is_empty() {
            put("description", json!(self.description));
        }
        if !self.description_url.is_empty() {
            put("description_url", json!(self.description_url));
        }
        let tags: Vec<&str> = self.tags.split([',', ' ']).filter(|tag| !tag.is_empty()).collect();
        if !tags.is_empty() {
            put("tags", json!(tags));
        }
        put("tool_name", json!(tool_name));
        put("tool_input", tool_input);
        put("trigger", self.trigger(zone)?);
        put("misfire", self.misfire()?);
        put("block", self.block()?);
        put(
            "retry",
            json!({
                "max_attempts": number(&self.attempts, "attempts")?,
                "backoff": self.backoff,
                "max_backoff": self.max_backoff,
            }),
        );
        put("timeout", json!(self.timeout));
        put("priority", json!(number(&self.priority, "priority")?));
        put("group", json!(self.group));
        if !self.routing.is_empty() {
            put("routing", json!(self.routing));
        }
        put("idempotent", json!(self.idempotent));
        put("retention", json!({ "runs": number(&self.retain_runs, "retain_runs")?, "age": self.retain_age }));
        self.more.put_into(&mut job)?;
        Ok(job)
    }

    fn tool(&self) -> Result<(String, Value), Problem> {
        match self.action.as_str() {
            "script" if self.script.trim().is_empty() => Err(wrong("script", "must not be empty: what should run?")),
            "script" => Ok(("shell".into(), json!({ "script": self.script }))),
            "http" => Ok(("http".into(), self.http()?)),
            _ => {
                let unread = |error: serde_json::Error| wrong("tool_input", &format!("is not JSON: {error}"));
                Ok((self.tool_name.clone(), serde_json::from_str(&self.tool_input).map_err(unread)?))
            }
        }
    }

    fn http(&self) -> Result<Value, Problem> {
        let mut input = json!({ "method": self.http_method, "url": self.http_url });
        let mut headers = Map::new();
        for line in self.http_headers.lines().filter(|line| !line.trim().is_empty()) {
            let pair = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
            let (name, value) = pair.ok_or_else(|| wrong("http_headers", "each line is written as Name: value"))?;
            headers.insert(name.to_owned(), json!(value));
        }
        if !headers.is_empty() {
            input["headers"] = Value::Object(headers);
        }
        if !self.http_body.is_empty() {
            input["body"] = json!(self.http_body);
        }
        Ok(input)
    }

    fn trigger(&self, zone: &str) -> Result<Value, Problem> {
        let moment =
            |text: &str, field: &str| wall_time(text, zone).ok_or_else(|| wrong(field, "must be a date and a time"));
        let mut trigger = match self.when.as_str() {
            "every" => json!({ "type": "scheduled", "every": self.every }),
            "cron" => self.cron(),
            "at" => json!({ "type": "scheduled", "at": moment(&self.at, "at")? }),
            "webhook" => return Ok(json!({ "type": "webhook", "hook": self.hook })),
            _ => return Ok(json!({ "type": "manual" })),
        };
        for (name, text) in [("start", &self.start), ("end", &self.end)] {
            if !text.is_empty() {
                trigger[name] = json!(moment(text, name)?);
            }
        }
        if !self.jitter.is_empty() {
            trigger["jitter"] = json!(self.jitter);
        }
        let exclude = exclusions::read(&self.exclude).map_err(|line| wrong("exclude", &line))?;
        if !exclude.is_empty() {
            trigger["exclude"] = Value::Array(exclude);
        }
        Ok(trigger)
    }

    fn cron(&self) -> Value {
        let mut trigger = json!({ "type": "scheduled", "cron": self.cron, "timezone": self.timezone });
        let mut dst = Map::new();
        for (name, value, default) in
            [("skipped", &self.dst_skipped, "shift"), ("repeated", &self.dst_repeated, "first")]
        {
            if !value.is_empty() && value != default {
                dst.insert(name.to_owned(), json!(value));
            }
        }
        if !dst.is_empty() {
            trigger["dst"] = Value::Object(dst);
        }
        trigger
    }

    fn misfire(&self) -> Result<Value, Problem> {
        if self.misfire != "fire_all" {
            return Ok(json!(self.misfire));
        }
        let cap = number(&self.misfire_cap, "misfire_cap")?;
        Ok(json!({ "fire_all": { "cap": cap, "window": self.misfire_window } }))
    }

    fn block(&self) -> Result<Value, Problem> {
        match self.block.as_str() {
            "concurrent" => Ok(json!({ "concurrent": { "max": number(&self.concurrent, "concurrent")? } })),
            name => Ok(json!(name)),
        }
    }

    /// The field of the form that a field of the job stands in.
    pub(crate) fn field_of(&self, field: &str) -> &'static str {
        let of_action = || match self.action.as_str() {
            "script" => "script",
            "http" => "http_url",
            _ => "tool_input",
        };
        let of_trigger = || match self.when.as_str() {
            "every" => "every",
            "cron" => "cron",
            "at" => "at",
            "webhook" => "hook",
            _ => "when",
        };
        match field {
            "label" => "label",
            "description" => "description",
            "description_url" => "description_url",
            other if other.starts_with("tags") => "tags",
            "script" => "script",
            "http_headers" => "http_headers",
            "tool_input" => of_action(),
            "tool_name" => "tool_name",
            "trigger.timezone" => "timezone",
            "trigger.jitter" => "jitter",
            "exclude" => "exclude",
            other if other.starts_with("trigger.exclude") => "exclude",
            other if other.starts_with("trigger.dst") => "dst_skipped",
            "trigger.hook" => "hook",
            "trigger.start" | "start" => "start",
            "trigger.end" | "end" => "end",
            "misfire" => "misfire",
            "misfire_cap" => "misfire_cap",
            other if other.starts_with("misfire.") => match other.ends_with("window") {
                true => "misfire_window",
                false => "misfire_cap",
            },
            "block" | "concurrent" => "concurrent",
            "retry.max_attempts" | "attempts" => "attempts",
            "retry.backoff" => "backoff",
            "retry.max_backoff" => "max_backoff",
            "timeout" => "timeout",
            "priority" => "priority",
            "group" => "group",
            "routing" => "routing",
            "retention.runs" | "retain_runs" => "retain_runs",
            "retention.age" => "retain_age",
            other if other.starts_with("trigger") || other == "at" => of_trigger(),
            other if other.starts_with("tool_input") => of_action(),
            other => more_fields::field_of(other).unwrap_or_default(),
        }
    }
}

fn routing_name(routing: Routing) -> String {
    name_of(routing)
}

/// As it is written on the wire.
fn name_of(choice: impl serde::Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

pub(super) fn number(text: &str, field: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| wrong(field, "must be a whole number"))
}

pub(super) fn wrong(field: &str, message: &str) -> Problem {
    let errors = vec![FieldError { field: field.to_owned(), message: message.to_owned() }];
    Problem { code: Code::InvalidJob, detail: message.to_owned(), errors }
}

fn headers_text(headers: &Value) -> Option<String> {
    let pairs = headers.as_object()?.iter().map(|(name, value)| Some(format!("{name}: {}", value.as_str()?)));
    pairs.collect::<Option<Vec<String>>>().map(|lines| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(text: &str) -> Definition {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_job_read_into_the_form_and_back_is_the_same_job() {
        let times = Times::new(Timestamp::MIN, "UTC", false);
        for text in [
            r#"{"label":"a","description":"nightly","description_url":"https://wiki/a","tags":["nightly","team:a"],"tool_name":"shell",
                "tool_input":{"script":"echo hi\n"},"trigger":{"type":"manual"}}"#,
            r#"{"label":"b","tool_name":"shell","tool_input":{"command":"ls","args":["-l"]},
                "trigger":{"type":"scheduled","cron":"0 2 * * *","timezone":"Europe/Berlin","jitter":"1m"}}"#,
            r#"{"label":"c","tool_name":"http","tool_input":{"method":"POST","url":"http://x","headers":{"A":"b"}},
                "trigger":{"type":"webhook","hook":"gh"},"block":{"concurrent":{"max":7}},"priority":9,"group":"gpu","routing":"lru"}"#,
            r#"{"label":"e","tool_name":"noop","trigger":{"type":"scheduled","cron":"30 2 * * *","timezone":"Europe/Berlin",
                "dst":{"skipped":"skip","repeated":"both"},
                "exclude":[{"days":["sat","sun"]},{"from":"22:00","to":"06:00"},{"dates":["2026-12-24"]}]}}"#,
            r#"{"label":"f","tool_name":"noop","misfire":{"fire_all":{"cap":7,"window":"6h"}},
                "trigger":{"type":"scheduled","every":"10m","start":"2030-01-01T12:00:00.250Z","end":"2031-01-01T00:00:00Z"}}"#,
            r#"{"label":"d","tool_name":"noop","trigger":{"type":"scheduled","at":"2030-01-01T12:00:00.000Z"},
                "retry":{"max_attempts":3,"backoff":"5s","max_backoff":"1m"},"misfire":"do_nothing","idempotent":true}"#,
        ] {
            let before = definition(text);
            let job = JobForm::of(&before, &times, "UTC").to_json("UTC").unwrap();
            assert_eq!(serde_json::from_value::<Definition>(Value::Object(job)).unwrap(), before);
        }
    }

    #[test]
    fn a_problem_of_the_job_is_shown_at_the_field_of_the_form() {
        let mut fields = JobForm::blank("UTC");
        assert_eq!((fields.field_of("trigger.cron"), fields.field_of("tool_input")), ("cron", "script"));
        (fields.when, fields.action) = ("at".into(), "http".into());
        assert_eq!((fields.field_of("trigger.at"), fields.field_of("tool_input.url")), ("at", "http_url"));
        assert_eq!((fields.field_of("description_url"), fields.field_of("tags")), ("description_url", "tags"));
        assert_eq!((fields.field_of("trigger.end"), fields.field_of("retry.max_backoff")), ("end", "max_backoff"));
        assert_eq!(fields.field_of("misfire.fire_all.window"), "misfire_window");
        assert_eq!(fields.field_of("nobody"), "");
    }
}
