//! Who may do what, and what they know: roles and rights, tokens, the scope of executors, secrets.

pub mod api_token;
pub mod credential;
pub mod executor_scope;
pub mod login;
pub mod role;
pub mod secret;
pub mod secret_reference;
