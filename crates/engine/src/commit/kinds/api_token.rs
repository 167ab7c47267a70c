//! Where tokens stand in the index: by name, and by the hash of the token.

use ordo_model::api_token::ApiToken;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

/// By hash: how a token that somebody sends is found.
pub(crate) const BY_HASH: u8 = 1;

impl Stored for ApiToken {
    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let by_name = [self.name.as_bytes(), &[0], id.as_bytes()].concat();
        let by_hash = [self.hash.as_bytes(), &[0], id.as_bytes()].concat();
        vec![
            index_row::<ApiToken>(Self::LIST, &by_name, Vec::new()),
            index_row::<ApiToken>(BY_HASH, &by_hash, Vec::new()),
        ]
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        matches!(event, "TokenIssued" | "TokenRevoked" | "SessionEnded" | "SessionsEnded").then_some(self.name.as_str())
    }
}
