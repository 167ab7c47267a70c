//! Answers in fewer bytes, for clients that say they take gzip.
//!
//! Invariant: a stream of events is never compressed: an event would wait in the compressor for those after it.

use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate, SizeAbove};

/// Below this the gain is not worth the work.
const WORTHWHILE_BYTES: u64 = 1_024;

type Worthwhile = And<SizeAbove, NotForContentType>;

pub(crate) fn layer() -> CompressionLayer<Worthwhile> {
    let worthwhile = SizeAbove::new(WORTHWHILE_BYTES).and(NotForContentType::SSE);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worthwhile)
}
