//! The routes that executors of XXL-JOB call as those of its admin.

use super::{OPEN, Post};
use crate::code::Code;
use crate::route::{Media, Route, WRITES};

fn route(path: &'static str) -> Route {
    Route::new(Post, path, OPEN, "xxl")
        .saying(
            "Needs no token of the API: the header `XXL-JOB-ACCESS-TOKEN` has the token of the executor's group. \
             A refusal is answered with 200 and another `code` inside, as XXL-JOB does it.",
        )
        .raw_body()
        .answers_as(200, "Heard, if `code` is 200; `msg` says why not.", vec![Media::AnyObject])
        .refuses(&[Code::RequestTimeout, Code::BodyTooLarge, Code::InvalidJson, Code::XxlNotConfigured])
        .refuses(WRITES)
}

pub(crate) fn registry() -> Route {
    route("/xxl-job-admin/api/registry").summary("An executor of XXL-JOB says that it is there")
}

pub(crate) fn registry_remove() -> Route {
    route("/xxl-job-admin/api/registryRemove").summary("An executor of XXL-JOB goes")
}

pub(crate) fn callback() -> Route {
    route("/xxl-job-admin/api/callback").summary("An executor of XXL-JOB says how runs ended")
}
