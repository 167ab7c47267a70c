//! Scripts, styles and icons, part of the binary.
//!
//! Invariant: the address of a file holds the hash of all of them, so a browser may keep what it has for good, and a
//! new version is fetched whole: modules that import each other always fit together.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use sha2::{Digest, Sha256};

use crate::http::problem::Problem;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("../../../assets/", $name)))
    };
}

/// (name, content type, content)
const FILES: &[(&str, &str, &str)] = &[
    file!("app.js", SCRIPT),
    file!("ansi.js", SCRIPT),
    file!("copy.js", SCRIPT),
    file!("form.js", SCRIPT),
    file!("keys.js", SCRIPT),
    file!("live.js", SCRIPT),
    file!("log.js", SCRIPT),
    file!("morph.js", SCRIPT),
    file!("palette.js", SCRIPT),
    file!("refill.js", SCRIPT),
    file!("ring.js", SCRIPT),
    file!("rows.js", SCRIPT),
    file!("select.js", SCRIPT),
    file!("times.js", SCRIPT),
    file!("views.js", SCRIPT),
    file!("tokens.css", STYLE),
    file!("layout.css", STYLE),
    file!("parts.css", STYLE),
    file!("charts.css", STYLE),
    file!("pages.css", STYLE),
    file!("log.css", STYLE),
    file!("incident.css", STYLE),
    file!("job.css", STYLE),
    file!("calendar.css", STYLE),
    file!("runs.css", STYLE),
    file!("runs.js", SCRIPT),
    file!("favicon.svg", PICTURE),
    file!("favicon-trouble.svg", PICTURE),
];

/// Stands in the address of every file.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let hash = FILES.iter().fold(Sha256::new(), |hash, (_, _, content)| hash.chain_update(content));
    hex::encode(&hash.finalize()[..6])
});

/// The address of a file below the base path.
pub(crate) fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *MARK)
}

pub(crate) async fn show(Path((mark, name)): Path<(String, String)>) -> Response {
    let found = FILES.iter().find(|(known, _, _)| *known == name && mark == *MARK);
    let Some((_, kind, content)) = found else {
        return Problem::new(Code::RouteNotFound, "there is no such file; reload the page").into_response();
    };
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]);
    (StatusCode::OK, headers, *content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What a page may cost its reader.
    const GZIPPED_MAX_BYTES: usize = 60_000;
    /// What one page loads for itself; everything else belongs to the first page.
    const OF_ONE_PAGE: [&str; 6] = ["calendar.css", "runs.css", "runs.js", "log.css", "log.js", "ansi.js"];

    #[test]
    fn the_scripts_and_styles_of_the_first_page_are_small_enough() {
        let gzipped = |content: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content.as_bytes()).unwrap();
            encoder.finish().unwrap().len()
        };
        let is_first = |name: &str| !OF_ONE_PAGE.contains(&name);
        let of_first = FILES.iter().filter(|(name, ..)| is_first(name));
        let total: usize = of_first.map(|(_, _, content)| gzipped(content)).sum();
        println!("{total} bytes, gzipped");
        assert!(total < GZIPPED_MAX_BYTES, "{total} bytes");
        let largest = FILES.iter().filter(|(name, ..)| !is_first(name)).map(|(_, _, content)| gzipped(content)).max();
        assert!(largest.is_some_and(|bytes| bytes < GZIPPED_MAX_BYTES / 6), "{largest:?} bytes for one page");
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for (name, _, content) in FILES {
            let content = content.replace("http://www.w3.org/", "");
            assert!(!content.contains("http://") && !content.contains("https://"), "{name}");
        }
    }
}
