//! Somebody who subscribed: checks signatures as the standard asks of receivers, and misbehaves.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use ordo_adapters::webhook::signing::{SignatureHeaders, SigningKey};
use ordo_model::Timestamp;
use serde_json::Value;

use super::{Mischief, MischiefPlan, cut, serve};

#[derive(Clone, Default)]
pub(crate) struct Receiver(Arc<Mutex<ReceiverState>>);

#[derive(Default)]
struct ReceiverState {
    keys: Vec<SigningKey>,
    plan: MischiefPlan,
    /// Answered when the plan is done.
    status: u16,
    taken: Vec<Taken>,
}

#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) id: String,
    /// By which of the keys, in their order, the message was found to be signed.
    pub(crate) signed_by: Vec<bool>,
    pub(crate) body: Value,
}

impl Receiver {
    pub(crate) async fn start() -> (Receiver, String) {
        let receiver = Receiver::default();
        receiver.0.lock().unwrap().status = 204;
        let router = Router::new()
            .route("/hook", post(take))
            .route("/moved", post(|| async { Redirect::temporary("/hook") }))
            .with_state(receiver.clone());
        let url = serve(router).await;
        (receiver, url)
    }

    pub(crate) fn trusts(&self, secrets: &[&str]) {
        self.0.lock().unwrap().keys = secrets.iter().map(|secret| SigningKey::parse(secret).unwrap()).collect();
    }

    pub(crate) fn plan(&self, mischief: &[Mischief]) {
        self.0.lock().unwrap().plan.0.extend(mischief);
    }

    pub(crate) fn answers(&self, status: u16) {
        self.0.lock().unwrap().status = status;
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.0.lock().unwrap().taken.clone()
    }
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> Response {
    let mischief = receiver.0.lock().unwrap().plan.next();
    if let Some(mischief) = mischief
        && let Some(answer) = mischief.answer().await
    {
        return answer;
    }
    let mut inside = receiver.0.lock().unwrap();
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    let (id, at, signatures) = (text("webhook-id"), text("webhook-timestamp"), text("webhook-signature"));
    assert!(!id.contains('.') && text("content-type") == "application/json");
    let at = Timestamp::from_ms(at.parse::<i64>().unwrap() * 1_000).unwrap();
    let given: Vec<&str> = signatures.split(' ').collect();
    let fits = |key: &SigningKey| {
        given.contains(&SignatureHeaders::new(std::slice::from_ref(key), &id, at, &body).signature.as_str())
    };
    let signed_by = inside.keys.iter().map(fits).collect();
    inside.taken.push(Taken { id, signed_by, body: serde_json::from_slice(&body).unwrap() });
    match mischief {
        Some(Mischief::CutAfter) => cut(),
        _ => StatusCode::from_u16(inside.status).unwrap().into_response(),
    }
}
