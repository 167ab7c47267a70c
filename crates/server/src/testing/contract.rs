//! What the description promises, held against every answer that a test sees.

use axum::http::{Response, StatusCode, header};
use ordo_api::openapi;
use serde_json::Value;

/// An answer of a described operation has a described status and type; anything else is refused as unknown.
#[track_caller]
pub(super) fn check<B>(method: &str, path: &str, answer: &Response<B>) {
    let status = answer.status();
    if status == StatusCode::UNAUTHORIZED {
        return;
    }
    let Some(item) = item(path) else {
        return assert_eq!(status, StatusCode::NOT_FOUND, "{path} is not in the description");
    };
    let Some(operation) = item.get(method) else {
        return assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path} is not in the description");
    };
    let described = &operation["responses"][status.as_str()];
    assert!(described.is_object(), "{method} {path}: {status} is not in the description");
    if described.get("content").is_none() {
        return assert!(answer.headers().get(header::CONTENT_TYPE).is_none(), "{method} {path}: {status} has no body");
    }
    let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap();
    let essence = kind.split(';').next().unwrap();
    assert!(described["content"].get(essence).is_some(), "{method} {path}: {status} as {kind} is not in it");
}

/// What is described for a path: by its own name first, then by one with a parameter in it.
fn item(path: &str) -> Option<&'static Value> {
    let paths = openapi()["paths"].as_object().unwrap();
    paths.get(path).or_else(|| paths.iter().find(|(template, _)| fits(template, path)).map(|(_, item)| item))
}

fn fits(template: &str, path: &str) -> bool {
    let (mut expected, mut given) = (template.split('/'), path.split('/'));
    let same = expected.by_ref().zip(given.by_ref()).all(|(e, g)| e == g || (e.starts_with('{') && !g.is_empty()));
    same && template.split('/').count() == path.split('/').count()
}
