//! What becomes of Quartz's XML files, of Java and of .NET.

use serde_json::json;

use super::*;

const JOBS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<job-scheduling-data xmlns="http://www.quartz-scheduler.org/xml/JobSchedulingData"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1.8">
  <pre-processing-commands><delete-jobs-in-group>*</delete-jobs-in-group></pre-processing-commands>
  <processing-directives><overwrite-existing-data>true</overwrite-existing-data></processing-directives>
  <schedule>
    <job>
      <name>settle</name>
      <group>billing</group>
      <description>Settles open invoices</description>
      <job-class>com.acme.billing.SettleJob</job-class>
      <durability>true</durability>
      <recover>true</recover>
      <job-data-map>
        <entry><key>region</key><value>east</value></entry>
        <entry><key>limit</key><value>100</value></entry>
      </job-data-map>
    </job>
    <trigger>
      <cron>
        <name>settle-quarterly-hour</name>
        <group>billing</group>
        <job-name>settle</job-name>
        <job-group>billing</job-group>
        <priority>10</priority>
        <calendar-name>holidays</calendar-name>
        <job-data-map><entry><key>limit</key><value>5</value></entry></job-data-map>
        <start-time>2027-01-01T00:00:00</start-time>
        <misfire-instruction>MISFIRE_INSTRUCTION_DO_NOTHING</misfire-instruction>
        <cron-expression>0 0/15 8-18 ? * 2-6</cron-expression>
        <time-zone>America/New_York</time-zone>
      </cron>
    </trigger>
    <trigger>
      <simple>
        <name>settle-often</name>
        <job-name>settle</job-name>
        <job-group>billing</job-group>
        <repeat-count>-1</repeat-count>
        <repeat-interval>10000</repeat-interval>
      </simple>
    </trigger>
    <job>
      <name>native</name>
      <job-class>org.quartz.jobs.NativeJob</job-class>
      <job-data-map>
        <entry><key>command</key><value>/usr/bin/report</value></entry>
        <entry><key>parameters</key><value>--all</value></entry>
      </job-data-map>
    </job>
    <trigger><calendar-interval><name>n</name><job-name>native</job-name><job-group>DEFAULT</job-group>
      <repeat-interval>2</repeat-interval><repeat-interval-unit>WEEK</repeat-interval-unit></calendar-interval></trigger>
    <job><name>by-hand</name><job-class>com.acme.ByHand</job-class></job>
    <trigger><cron><name>lost</name><job-name>nobody</job-name><cron-expression>0 0 1 * * ?</cron-expression></cron></trigger>
  </schedule>
</job-scheduling-data>"#;

fn origin() -> QuartzOrigin {
    QuartzOrigin { group: "billing-app".into(), zone: "Europe/Berlin".into() }
}

#[test]
fn jobs_and_triggers_become_jobs() {
    let reading = read(JOBS, &origin()).unwrap();
    let labels: Vec<&str> = reading.drafts.iter().map(|draft| draft.label.as_str()).collect();
    assert_eq!(
        labels,
        ["billing/settle (settle-quarterly-hour)", "billing/settle (settle-often)", "native", "by-hand"]
    );
    let settle = &reading.drafts[0];
    assert_eq!(
        Value::Object(settle.fields.clone()),
        json!({
            "description": "Settles open invoices",
            "tool_name": "com.acme.billing.SettleJob", "group": "billing-app",
            "tool_input": {"region": "east", "limit": "5"},
            "trigger": {"type": "scheduled", "cron": "0 0/15 8-18 ? * MON,TUE,WED,THU,FRI", "timezone": "America/New_York",
                        "start": "2027-01-01T05:00:00Z"},
            "misfire": "do_nothing", "block": "concurrent", "priority": 9, "idempotent": true
        })
    );
    assert_eq!(settle.warnings.len(), 2, "{:?}", settle.warnings);
    assert_eq!(reading.drafts[1].fields["trigger"]["every"], "10000ms");
    assert_eq!(reading.drafts[2].fields["tool_input"], json!({"script": "/usr/bin/report --all"}));
    assert_eq!(reading.drafts[2].fields["trigger"]["every"], "14d");
    assert_eq!(reading.drafts[3].fields["trigger"], json!({"type": "manual"}));
    assert!(reading.refused[0].why.contains("nobody"), "{reading:?}");
    let now = "2026-11-17T00:00:00Z".parse().unwrap();
    for draft in &reading.drafts {
        draft.normal(now).unwrap_or_else(|why| panic!("{why}: {draft:?}"));
    }
}

#[test]
fn a_file_of_quartz_net_is_read_too() {
    let text = r#"<job-scheduling-data version="2.0"><schedule>
        <job><name>mail</name><group>g</group><job-type>Acme.Jobs.Mail, Acme.Jobs</job-type></job>
        <trigger><simple><name>t</name><group>g</group><job-name>mail</job-name><job-group>g</job-group>
          <start-time>2027-05-01T08:00:00Z</start-time><repeat-count>3</repeat-count><repeat-interval>60000</repeat-interval>
        </simple></trigger></schedule></job-scheduling-data>"#;
    let reading = read(text, &origin()).unwrap();
    let fields = &reading.drafts[0].fields;
    assert_eq!(fields["tool_name"], "Acme.Jobs.Mail");
    assert_eq!(
        fields["trigger"],
        json!({"type": "scheduled", "every": "60000ms", "start": "2027-05-01T08:00:00Z", "end": "2027-05-01T08:03:00.001Z"})
    );
}

#[test]
fn what_has_no_counterpart_is_refused_by_name() {
    let trigger = |inside: &str| {
        let text = format!(
            "<d><schedule><job><name>a</name><job-class>A</job-class></job><trigger>{inside}</trigger></schedule></d>"
        );
        read(&text, &origin()).unwrap().refused
    };
    for (inside, says) in [
        ("<cron><job-name>a</job-name><cron-expression>0 0 12 L-3 * ?</cron-expression></cron>", "L-3"),
        ("<cron><job-name>a</job-name></cron>", "cron-expression"),
        ("<simple><job-name>a</job-name></simple>", "once"),
        ("<daily-time-interval><job-name>a</job-name></daily-time-interval>", "daily-time-interval"),
        (
            "<calendar-interval><job-name>a</job-name><repeat-interval>1</repeat-interval>\
             <repeat-interval-unit>MONTH</repeat-interval-unit></calendar-interval>",
            "cron",
        ),
        (
            "<cron><job-name>a</job-name><cron-expression>0 0 12 * * ?</cron-expression>\
             <misfire-instruction>MAYBE</misfire-instruction></cron>",
            "MAYBE",
        ),
    ] {
        let refused = trigger(inside);
        assert_eq!(refused.len(), 1, "{inside}: {refused:?}");
        assert!(refused[0].why.contains(says), "{says}: {refused:?}");
    }
    assert!(read("<a>", &origin()).is_err());
}
