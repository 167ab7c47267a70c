//! Logins stand in no index of their own: the audit has a row for each.

use ordo_model::login::Login;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::Stored;

impl Stored for Login {
    fn rows(&self, _id: Uuid) -> Vec<RowWrite> {
        Vec::new()
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        (event != "LoginForgotten").then_some(self.address.as_str())
    }
}
