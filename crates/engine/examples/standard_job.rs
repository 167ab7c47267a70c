//! A standard job, decided and encoded as often as the argument says. `cargo xtask instructions` counts what one of them
//! costs under callgrind; nothing here depends on the machine, the clock or chance.

use ordo_engine::Request;
use ordo_engine::rounds::batch_of;
use ordo_model::job::{Command, Definition};
use ordo_model::{JobId, Millis, Timestamp};
use serde_json::json;
use uuid::Uuid;

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    let now = Timestamp::from_ms(1_800_000_000_000).expect("a time");
    let definition = definition(now);
    let bytes: usize = (1..=count).map(|number| encoded(number, &definition, now)).sum();
    println!("{count} jobs, {bytes} bytes");
}

/// How many bytes a commit has that schedules this job alone.
fn encoded(number: u128, definition: &Definition, now: Timestamp) -> usize {
    let command = Command::Schedule { definition: Box::new(definition.clone()), held: false };
    batch_of(vec![Request::new(JobId(Uuid::from_u128(number)), command)], now, false).bytes()
}

fn definition(now: Timestamp) -> Definition {
    let form = json!({
        "label": "send-reminder",
        "tool_name": "noop",
        "tool_input": { "id": 123, "to": "somebody@example.org", "text": "as long as such an input is, about" },
        "trigger": { "type": "scheduled", "at": now.plus(Millis::from_secs(60)) },
    });
    serde_json::from_value(form).expect("a definition")
}
