//! What becomes of CronJobs.

use serde_json::json;

use super::*;

const REPORT: &str = r#"
apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
  namespace: shop
  annotations: { description: "The nightly report" }
spec:
  schedule: "0 2 * * *"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  suspend: true
  startingDeadlineSeconds: 600
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 900
      template:
        spec:
          restartPolicy: Never
          volumes: [{ name: data, emptyDir: {} }]
          containers:
            - name: report
              image: shop/report:1.4
              command: ["/bin/report", "--to", "$(TARGET)"]
              args: ["--all"]
              workingDir: /srv
              env:
                - { name: TARGET, value: "s3://x" }
                - { name: LIMIT, value: "10" }
                - name: PASSWORD
                  valueFrom: { secretKeyRef: { name: db, key: password } }
              resources: { limits: { memory: 1Gi } }
            - { name: proxy, image: proxy }
"#;

/// A CronJob with this in its spec.
fn spec(text: &str) -> Imported {
    let template = "{spec: {template: {spec: {containers: [{image: i, command: [x]}]}}}}";
    read(&format!("kind: CronJob\nmetadata: {{name: a}}\nspec: {{{text}, jobTemplate: {template}}}")).unwrap()
}

fn field(text: &str, name: &str) -> Value {
    let reading = spec(text);
    assert_eq!((reading.drafts.len(), reading.refused.len()), (1, 0), "{reading:?}");
    reading.drafts[0].fields[name].clone()
}

#[test]
fn a_cronjob_becomes_a_job() {
    let reading = read(REPORT).unwrap();
    let [draft] = reading.drafts.as_slice() else { panic!("{reading:?}") };
    assert_eq!((draft.label.as_str(), draft.held), ("shop/report", true));
    assert_eq!(
        Value::Object(draft.fields.clone()),
        json!({
            "description": "The nightly report",
            "tool_name": "shell",
            "tool_input": {
                "command": "/bin/report",
                "args": ["--to", "s3://x", "--all"],
                "cwd": "/srv",
                "env": {"TARGET": "s3://x", "LIMIT": "10"}
            },
            "trigger": {"type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin"},
            "block": "discard",
            "misfire": {"fire_all": {"cap": 1, "window": "10m"}},
            "retry": {"max_attempts": 3, "backoff": "10s", "max_backoff": "6m"},
            "timeout": "15m"
        })
    );
    for said in ["image", "PASSWORD", "secretKeyRef", "volumes", "resources", "proxy", "each attempt"] {
        assert!(draft.warnings.iter().any(|warning| warning.contains(said)), "{said}: {:#?}", draft.warnings);
    }
    assert_eq!(draft.warnings.len(), 6, "{:#?}", draft.warnings);
}

#[test]
fn policies_have_their_counterparts() {
    for (text, name, value) in [
        ("schedule: '@daily'", "block", json!("concurrent")),
        ("schedule: '@daily', concurrencyPolicy: Allow", "block", json!("concurrent")),
        ("schedule: '@daily', concurrencyPolicy: Replace", "block", json!("cover")),
        ("schedule: '@daily'", "misfire", json!("fire_once_now")),
        ("schedule: '@daily', startingDeadlineSeconds: 5", "misfire", json!("do_nothing")),
        ("schedule: '@daily'", "retry", json!({"max_attempts": 7, "backoff": "10s", "max_backoff": "6m"})),
        ("schedule: '@daily'", "timeout", json!(ordo_model::limits::TIMEOUT_MAX)),
        ("schedule: '@daily'", "trigger", json!({"type": "scheduled", "cron": "@daily", "timezone": "UTC"})),
        (
            "schedule: 'CRON_TZ=Asia/Tokyo 0 2 * * *'",
            "trigger",
            json!({"type": "scheduled", "cron": "0 2 * * *", "timezone": "Asia/Tokyo"}),
        ),
        (
            "schedule: '0/15 */4 1/7 * MON-FRI'",
            "trigger",
            json!({"type": "scheduled", "cron": "0/15 */4 1/7 * MON-FRI", "timezone": "UTC"}),
        ),
        ("schedule: '@every 90s'", "trigger", json!({"type": "scheduled", "every": "90s"})),
    ] {
        assert_eq!(field(text, name), value, "{text}");
    }
}

#[test]
fn documents_and_lists_are_read_to_their_end() {
    let job = |name: &str| {
        let pod = "{spec: {template: {spec: {containers: [{image: i, command: [x]}]}}}}";
        format!("{{kind: CronJob, metadata: {{name: {name}}}, spec: {{schedule: '@daily', jobTemplate: {pod}}}}}")
    };
    let text = format!(
        "---\n{}\n---\nkind: Service\nmetadata: {{name: web}}\n---\n---\nkind: List\nitems: [{}, {}]\n",
        job("a"),
        job("b"),
        job("c")
    );
    let reading = read(&text).unwrap();
    let labels: Vec<&str> = reading.drafts.iter().map(|draft| draft.label.as_str()).collect();
    assert_eq!(labels, ["a", "b", "c"]);
    assert_eq!(reading.notes, ["Service web is left out: only CronJobs are imported"]);
}

#[test]
fn what_can_never_run_is_refused_by_name() {
    let template = |container: &str| {
        let pod = format!("{{spec: {{template: {{spec: {{containers: {container}}}}}}}}}");
        let text = format!("kind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: '@daily', jobTemplate: {pod}}}");
        read(&text).unwrap().refused
    };
    for (refused, says) in [
        (template("[]"), "no container"),
        (template("[{image: busybox}]"), "busybox"),
        (spec("concurrencyPolicy: Forbid").refused, "spec.schedule"),
        (spec("schedule: '@daily', concurrencyPolicy: Maybe").refused, "Maybe"),
        (spec("schedule: '@daily', startingDeadlineSeconds: soon").refused, "startingDeadlineSeconds"),
        (read("kind: CronJob").unwrap().refused, "metadata.name"),
    ] {
        assert_eq!(refused.len(), 1, "{says}");
        assert!(refused[0].why.contains(says), "{refused:?}");
    }
    assert!(read("a: [").is_err());
}
