//! The routes of secrets and tokens, and how a browser gets in and out.

use ordo_model::Role;
use ordo_model::limits::SECRET_MAX_BYTES;
use serde_json::{Value, json};

use super::operation::{Operation, READS, SEALS, WRITES, component};
use super::schemas::{answer, fields, list, object, or_null, text};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![
        list_secrets(),
        put_secret(),
        remove_secret(),
        reseal_secrets(),
        list_tokens(),
        create_token(),
        revoke_token(),
        login_link(),
        login_form(),
        logout(),
    ]
}

pub(super) fn schemas() -> Value {
    json!({
        "Secret": answer(
            json!({ "name": text(), "created_at": component("Time"), "updated_at": component("Time") }),
            &[],
        ),
        "Role": { "type": "string", "enum": Role::ALL.map(Role::name) },
        "Token": token(json!({}), &[]),
        "NewToken": token(json!({ "token": { "type": "string", "description": "The token itself: told this once." } }), &[]),
    })
}

fn token(more: Value, optional: &[&str]) -> Value {
    let mut properties = json!({
        "id": component("Id"),
        "name": text(),
        "role": component("Role"),
        "state": { "type": "string", "enum": ["active", "expired", "revoked"] },
        "prefix": { "type": "string", "description": "How the token begins." },
        "created_at": component("Time"),
        "created_by": { "type": "string", "description": "The name of the token that made it; `local`: the socket." },
        "expires_at": or_null(component("Time")),
        "last_used_at": or_null(component("Time")),
        "revoked_at": or_null(component("Time")),
    });
    for (name, schema) in fields(more).unwrap_or_default() {
        properties[name] = schema;
    }
    answer(properties, optional)
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "access", summary)
}

fn list_secrets() -> Operation {
    operation("get", "/v1/secrets", "listSecrets", "The names of all secrets")
        .saying("By name. A value is never answered.")
        .paged()
        .answers(200, "A page of names.", &list("Secret"))
        .refuses(READS)
}

fn put_secret() -> Operation {
    let value = json!({ "type": "string", "minLength": 1, "maxLength": SECRET_MAX_BYTES, "writeOnly": true });
    operation("put", "/v1/secrets/{name}", "putSecret", "Keep a value under a name")
        .saying(
            "A job refers to it by `{\"secret\": \"name\"}` wherever its `tool_input` takes a text, or by \
             `{\"secret\": \"name\", \"prefix\": \"Bearer \"}`. The value is sealed with the server's key file.",
        )
        .body(object(&["value"], json!({ "value": value })), true)
        .answers(200, "The secret has the new value.", &component("Secret"))
        .answers(201, "The secret is new.", &component("Secret"))
        .refuses(&[Code::InvalidSecret, Code::SecretNotFound])
        .refuses(SEALS)
        .refuses(WRITES)
}

fn remove_secret() -> Operation {
    operation("delete", "/v1/secrets/{name}", "removeSecret", "Forget a secret")
        .saying("Attempts that refer to it fail from now on and say why.")
        .answers(200, "What was removed.", &component("Secret"))
        .refuses(&[Code::SecretNotFound])
        .refuses(WRITES)
}

fn reseal_secrets() -> Operation {
    operation("post", "/v1/store/reseal", "resealSecrets", "Seal all secrets with the first key of the key file")
        .saying("After a new key was put before the old one; the old one is needed no more then.")
        .answers(200, "How many there are.", &answer(json!({ "secrets": { "type": "integer", "minimum": 0 } }), &[]))
        .refuses(SEALS)
        .refuses(WRITES)
}

fn list_tokens() -> Operation {
    operation("get", "/v1/tokens", "listTokens", "All tokens, without their text")
        .saying("By name. One that was revoked or has expired is listed for 30 days more.")
        .paged()
        .answers(200, "A page of tokens.", &list("Token"))
        .refuses(READS)
}

fn create_token() -> Operation {
    let name = json!({ "type": "string", "pattern": "^[A-Za-z0-9._@-]{1,128}$" });
    let fields = json!({
        "name": name,
        "role": component("Role"),
        "expires_at": or_null(component("Time")),
        "expires_in": or_null(component("Duration")),
    });
    operation("post", "/v1/tokens", "createToken", "Make a token")
        .saying("The answer holds its text, and no other answer ever will. Without an expiry it ends by revocation.")
        .body(object(&["name", "role"], fields), true)
        .answers(201, "The token.", &component("NewToken"))
        .leads_to(201, &["revokeToken"], "id", "$response.body#/id")
        .refuses(&[Code::InvalidToken, Code::TokenExists, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

fn revoke_token() -> Operation {
    operation("delete", "/v1/tokens/{id}", "revokeToken", "Revoke a token")
        .saying("It lets nobody in from now on, nor do the sessions of browsers that showed it; on other nodes within two seconds.")
        .answers(200, "The token.", &component("Token"))
        .refuses(&[Code::TokenNotFound])
        .refuses(WRITES)
}

fn login(method: &'static str, id: &'static str, summary: &'static str) -> Operation {
    operation(method, "/login", id, summary)
        .open()
        .redirects("The browser has a session: on to the dashboard.")
        .refuses(&[Code::Unauthorized, Code::RateLimited])
        .refuses(SEALS)
        .refuses(READS)
}

fn login_link() -> Operation {
    login("get", "loginByLink", "Log a browser in by a link")
        .query("token", text(), "A token.")
        .query("next", text(), "The path to go to.")
        .refuses(&[Code::InvalidQuery])
}

fn login_form() -> Operation {
    let fields = json!({ "token": text(), "next": text() });
    login("post", "loginByForm", "Log a browser in by a form")
        .form(json!({ "type": "object", "required": ["token"], "properties": fields }))
}

fn logout() -> Operation {
    operation("post", "/logout", "logout", "End the session of a browser").open().redirects("Back to the login page.")
}
