//! The routes of monitors and their pings.

use serde_json::json;

use super::operation::{Operation, READS, WRITES, component};
use super::schemas::list;
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    let mut all = vec![create(), read_all(), read(), remove()];
    for (path, get, post, summary) in [
        ("/ping/{token}", "ping", "pingWithText", "All went well"),
        ("/ping/{token}/start", "pingStart", "pingStartWithText", "It has begun, and must end within the grace"),
        ("/ping/{token}/fail", "pingFail", "pingFailWithText", "It failed"),
    ] {
        all.push(ping("get", path, get, summary));
        all.push(ping("post", path, post, summary).saying("The last 64 KiB of the body are kept, whatever they are."));
    }
    all
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "monitors", summary)
}

fn create() -> Operation {
    operation("post", "/v1/monitors", "addMonitor", "Add a monitor, or change the one of that name")
        .body(component("NewMonitor"), true)
        .answers(200, "The monitor of that name, with these settings.", &component("Monitor"))
        .answers(201, "The monitor, durable.", &component("Monitor"))
        .leads_to(201, &["readMonitor", "removeMonitor"], "name", "$response.body#/name")
        .refuses(&[Code::InvalidMonitor])
        .refuses(WRITES)
}

fn read_all() -> Operation {
    operation("get", "/v1/monitors", "listMonitors", "List monitors by name")
        .paged()
        .answers(200, "A page of monitors.", &list("Monitor"))
        .refuses(READS)
}

fn read() -> Operation {
    operation("get", "/v1/monitors/{name}", "readMonitor", "Read a monitor with its last pings")
        .answers(200, "The monitor.", &component("Monitor"))
        .refuses(&[Code::MonitorNotFound])
        .refuses(READS)
}

fn remove() -> Operation {
    operation("delete", "/v1/monitors/{name}", "removeMonitor", "Forget a monitor and its pings")
        .answers(200, "The monitor as it was.", &component("Monitor"))
        .refuses(&[Code::MonitorNotFound])
        .refuses(WRITES)
}

fn ping(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    let heard = json!({ "type": "object", "required": ["status"], "properties": { "status": { "type": "string" } } });
    operation(method, path, id, summary)
        .open()
        .answers(200, "It was heard.", &heard)
        .refuses(&[Code::MonitorNotFound, Code::BodyTooLarge, Code::RequestTimeout, Code::InvalidJson])
        .refuses(WRITES)
}
