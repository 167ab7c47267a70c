//! Channels: what the configuration lets messages go out through.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A sender that the configuration of the node names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelView {
    /// `slack`, `email` or `file`.
    pub name: String,
    /// The section of the configuration that it is set up in.
    pub section: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelTest {
    pub delivered: bool,
    /// What the receiver answered, in a word.
    #[schema(required)]
    pub note: Option<String>,
    #[schema(required)]
    pub error: Option<String>,
}
