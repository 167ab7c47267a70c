//! What XXL-JOB's executors and its admin say to each other, versions 2.1 to 3.x, as JSON.
//!
//! Invariant: what comes from outside is read leniently, as the admin reads it: fields that are not known are left alone.

use serde::{Deserialize, Serialize};

/// An executor says that it is there, or that it goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegistryParam {
    /// The `appname` of the executor.
    pub(crate) registry_key: String,
    /// Where it is called.
    pub(crate) registry_value: String,
}

/// An executor says how a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallbackParam {
    pub(crate) log_id: i64,
    #[serde(default)]
    handle_code: i32,
    #[serde(default)]
    handle_msg: Option<String>,
    /// How versions up to 2.2 said it.
    #[serde(default)]
    execute_result: Option<ExecuteResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ExecuteResult {
    code: i32,
    #[serde(default)]
    msg: Option<String>,
}

impl CallbackParam {
    /// The code and what was said with it.
    pub(crate) fn ended(self) -> (i32, Option<String>) {
        match (self.handle_code, self.execute_result) {
            (0, Some(result)) => (result.code, result.msg),
            (code, _) => (code, self.handle_msg),
        }
    }
}

pub(crate) const SUCCESS: i32 = 200;
pub(crate) const FAIL: i32 = 500;
/// The executor ended the run because its time was over.
pub(crate) const TIMEOUT: i32 = 502;

/// What either side answers: 200 inside, whatever the status of HTTP is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct XxlAnswer {
    pub code: i32,
    #[serde(default)]
    pub msg: Option<String>,
}

impl XxlAnswer {
    pub(crate) const fn success() -> XxlAnswer {
        XxlAnswer { code: SUCCESS, msg: None }
    }

    pub(crate) fn refused(msg: impl Into<String>) -> XxlAnswer {
        XxlAnswer { code: FAIL, msg: Some(msg.into()) }
    }
}

/// `POST /run`
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunParam {
    pub(crate) job_id: i32,
    pub(crate) executor_handler: String,
    pub(crate) executor_params: String,
    /// Always serial: who runs beside whom is decided by the engine, and what is still ending is waited for.
    pub(crate) executor_block_strategy: &'static str,
    pub(crate) executor_timeout: u64,
    pub(crate) log_id: i64,
    pub(crate) log_date_time: i64,
    /// Always `BEAN`: code is never sent.
    pub(crate) glue_type: &'static str,
    pub(crate) glue_source: &'static str,
    pub(crate) glue_updatetime: i64,
    pub(crate) broadcast_index: u32,
    pub(crate) broadcast_total: u32,
}

/// `POST /kill` and `POST /idleBeat`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobParam {
    pub(crate) job_id: i32,
}

/// `POST /log`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogParam {
    /// As XXL-JOB spells it.
    pub(crate) log_date_tim: i64,
    pub(crate) log_id: i64,
    pub(crate) from_line_num: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct LogAnswer {
    pub(crate) code: i32,
    #[serde(default)]
    content: Option<XxlLogPart>,
    /// How it is called since 3.3.
    #[serde(default)]
    data: Option<XxlLogPart>,
}

impl LogAnswer {
    pub(crate) fn part(self) -> Option<XxlLogPart> {
        self.data.or(self.content)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct XxlLogPart {
    pub(crate) to_line_num: u64,
    #[serde(default)]
    pub(crate) log_content: Option<String>,
    #[serde(default, alias = "end")]
    pub(crate) is_end: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_of_any_version_says_how_it_ended() {
        let read = |text: &str| serde_json::from_str::<CallbackParam>(text).unwrap().ended();
        let new = r#"{"logId": 7, "logDateTim": 1, "handleCode": 500, "handleMsg": "no", "x": 1}"#;
        assert_eq!(read(new), (500, Some("no".into())));
        let old = r#"{"logId": 7, "logDateTim": 1, "executeResult": {"code": 200, "msg": null}}"#;
        assert_eq!(read(old), (200, None));
    }

    #[test]
    fn a_part_of_a_log_of_any_version_is_read() {
        let read = |text: &str| serde_json::from_str::<LogAnswer>(text).unwrap().part().unwrap();
        let old = read(r#"{"code":200,"content":{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb\n","isEnd":true}}"#);
        let new = read(r#"{"code":200,"data":{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb\n","end":true}}"#);
        assert_eq!(old, new);
    }

    #[test]
    fn a_run_is_asked_for_in_the_words_of_xxl_job() {
        let param = RunParam {
            job_id: 1,
            executor_handler: "demo".into(),
            executor_params: String::new(),
            executor_block_strategy: "SERIAL_EXECUTION",
            executor_timeout: 0,
            log_id: 2,
            log_date_time: 3,
            glue_type: "BEAN",
            glue_source: "",
            glue_updatetime: 0,
            broadcast_index: 0,
            broadcast_total: 1,
        };
        let sent = serde_json::to_value(param).unwrap();
        for name in ["jobId", "executorHandler", "logDateTime", "glueUpdatetime", "broadcastTotal"] {
            assert!(sent.get(name).is_some(), "{name} in {sent}");
        }
    }
}
