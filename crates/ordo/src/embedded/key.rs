//! A tool's name with the types that go in and come out: what ties a handler, the jobs that use it and their results.
//!
//! Invariant: a job made by a key has an input its handler takes, and a result read by it has the handler's type.

use std::marker::PhantomData;

use serde::Serialize;

use super::JobBuilder;

/// The name of a tool, and the types of its input and its result.
///
/// ```
/// use ordo::ToolKey;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Email {
///     to: String,
/// }
/// #[derive(Serialize, Deserialize)]
/// struct Receipt {
///     message_id: String,
/// }
///
/// const EMAIL: ToolKey<Email, Receipt> = ToolKey::new("email");
///
/// let job = EMAIL.job("welcome", &Email { to: "ada@example.org".into() });
/// ```
pub struct ToolKey<I, O> {
    name: &'static str,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> ToolKey<I, O> {
    /// A tool of this name.
    pub const fn new(name: &'static str) -> ToolKey<I, O> {
        ToolKey { name, types: PhantomData }
    }

    /// The name under which the tool is stored with its jobs: keep it when the code moves.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<I: Serialize, O> ToolKey<I, O> {
    /// A job that gives this input to the tool.
    pub fn job(&self, label: impl Into<String>, input: &I) -> JobBuilder<I, O> {
        JobBuilder::typed(label, self.name).given(input)
    }
}

impl<I, O> Clone for ToolKey<I, O> {
    fn clone(&self) -> ToolKey<I, O> {
        *self
    }
}

impl<I, O> Copy for ToolKey<I, O> {}

impl<I, O> std::fmt::Debug for ToolKey<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ToolKey").field(&self.name).finish()
    }
}
