//! Where spans are gathered: everything under the target for collectors, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tracing::Subscriber;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::record::SpanRecord;

#[derive(Debug)]
pub(crate) struct Spans {
    queue: mpsc::Sender<SpanRecord>,
    /// Those for which there was no room.
    dropped: Arc<AtomicU64>,
}

impl Spans {
    pub(super) fn new(queue: mpsc::Sender<SpanRecord>, dropped: Arc<AtomicU64>) -> Spans {
        Spans { queue, dropped }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut record = SpanRecord::begin(span.name());
        attributes.record(&mut record);
        span.extensions_mut().insert(record);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(record) = span.extensions_mut().get_mut::<SpanRecord>() {
            values.record(record);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let record = context.span(&id).and_then(|span| span.extensions_mut().remove::<SpanRecord>());
        if record.is_some_and(|record| self.queue.try_send(record.end()).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
