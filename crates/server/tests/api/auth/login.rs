//! Browsers: how they get in, what they may ask for, how they are put out again.

use axum::body::Body;
use axum::http::Request;
use ordo_model::Role;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use ordo_server::testing::{TOKEN, TestResponse, World, job, text};

/// A request without a token, with these headers.
pub(crate) async fn browse(
    world: &World,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TestResponse {
    let mut request = Request::builder().method(method).uri(path).header("host", "ordo.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const OWN: (&str, &str) = ("origin", "http://ordo.example");
const FOREIGN: (&str, &str) = ("origin", "http://evil.example");

/// `name=value` of the cookie that an answer sets.
fn cookie(answer: &TestResponse) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

pub(crate) async fn login(world: &World, token: &str) -> String {
    let answer = browse(world, "POST", "/login", &[FORM, OWN], &format!("token={token}&next=%2Fjobs")).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/jobs"));
    cookie(&answer)
}

#[tokio::test]
async fn a_link_or_a_form_gives_a_cookie_that_does_not_hold_the_token() {
    let world = World::new().await;
    let answer = browse(&world, "GET", &format!("/login?token={TOKEN}"), &[("sec-fetch-site", "none")], "").await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/"));
    let set = answer.header("set-cookie");
    assert!(set.starts_with("ordo_session=") && set.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age="), "{set}");
    assert!(!set.contains("Secure") && !set.contains(TOKEN), "{set}");
    assert_eq!((answer.header("cache-control"), answer.header("referrer-policy")), ("no-store", "same-origin"));
    let session = cookie(&answer);
    browse(&world, "GET", "/v1/jobs", &[("cookie", &session)], "").await.expect(200);
    let session = login(&world, TOKEN).await;
    browse(&world, "GET", "/v1/jobs", &[("cookie", &format!("a=b; {session}"))], "").await.expect(200);
    let tls = [FORM, OWN, ("x-forwarded-proto", "https")];
    let answer = browse(&world, "POST", "/login", &tls, &format!("token={TOKEN}")).await;
    assert!(answer.header("set-cookie").contains("; Secure; "));
    let left = browse(&world, "POST", "/logout", &[OWN], "").await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, "/login"));
    assert!(
        left.header("set-cookie").starts_with("ordo_session=; ") && left.header("set-cookie").contains("Max-Age=0")
    );
}

#[tokio::test]
async fn nobody_gets_in_without_a_token_or_is_led_elsewhere() {
    let world = World::new().await;
    browse(&world, "GET", "/login", &[], "").await.refused(401, "unauthorized");
    browse(&world, "GET", "/login?token=wrong", &[], "").await.refused(401, "unauthorized");
    browse(&world, "POST", "/login", &[FORM], "token=wrong").await.refused(401, "unauthorized");
    browse(&world, "POST", "/login", &[FORM], "nothing=1").await.refused(422, "invalid_body");
    browse(&world, "GET", "/login?token=x&y=1", &[], "").await.refused(422, "invalid_query");
    let form = format!("token={TOKEN}&next=%2F%2Fevil.example");
    let answer = browse(&world, "POST", "/login", &[FORM, OWN], &form).await;
    assert_eq!(answer.header("location"), "/");
    let link = format!("/login?token={TOKEN}");
    browse(&world, "GET", &link, &[("sec-fetch-site", "cross-site")], "").await.refused(403, "origin_refused");
    for cookie in ["ordo_session=", "ordo_session=00", "ordo_session=zz", &format!("ordo_session={TOKEN}")] {
        browse(&world, "GET", "/v1/jobs", &[("cookie", cookie)], "").await.refused(401, "unauthorized");
    }
}

#[tokio::test]
async fn with_a_cookie_only_the_servers_own_pages_change_anything() {
    let world = World::new().await;
    let session = login(&world, TOKEN).await;
    let with = ("cookie", session.as_str());
    let wanted = job(json!({})).to_string();
    for own in [OWN, ("sec-fetch-site", "same-origin")] {
        browse(&world, "POST", "/v1/jobs", &[with, JSON, own], &wanted).await.expect(201);
    }
    for other in [
        ("x-nothing", "1"),
        FOREIGN,
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let refused = browse(&world, "POST", "/v1/jobs", &[with, JSON, other], &wanted).await;
        refused.refused(403, "origin_refused");
    }
    // Reading by a page elsewhere is refused as well, with a cookie or with the token itself.
    browse(&world, "GET", "/v1/jobs", &[with, FOREIGN], "").await.refused(403, "origin_refused");
    let bearer = format!("Bearer {TOKEN}");
    let asked = browse(&world, "POST", "/v1/jobs", &[("authorization", &bearer), JSON, FOREIGN], &wanted).await;
    asked.refused(403, "origin_refused");
    // A program sends its token and says nothing of an origin.
    browse(&world, "POST", "/v1/jobs", &[("authorization", &bearer), JSON], &wanted).await.expect(201);
}

#[tokio::test]
async fn a_session_has_the_role_of_its_token_and_ends_with_it() {
    let world = World::new().await;
    let made = world.post("/v1/tokens", json!({ "name": "eve", "role": Role::Viewer })).await.expect(201);
    let session = login(&world, &text(&made["token"])).await;
    let with = ("cookie", session.as_str());
    browse(&world, "GET", "/v1/jobs", &[with], "").await.expect(200);
    browse(&world, "GET", "/v1/tokens", &[with], "").await.refused(403, "forbidden");
    let refused = browse(&world, "POST", "/v1/jobs", &[with, JSON, OWN], &job(json!({})).to_string()).await;
    refused.refused(403, "forbidden");
    world.delete(&format!("/v1/tokens/{}", text(&made["id"]))).await.expect(200);
    browse(&world, "GET", "/v1/jobs", &[with], "").await.refused(401, "unauthorized");
    // Another token of the same name is another token.
    world.post("/v1/tokens", json!({ "name": "eve", "role": Role::Admin })).await.expect(201);
    browse(&world, "GET", "/v1/jobs", &[with], "").await.refused(401, "unauthorized");
}

#[tokio::test]
async fn whoever_guesses_is_slowed_down_by_address() {
    let mut world = World::new().await;
    let address = world.tcp().await;
    let send_request = async |token: &str| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = format!("GET /login?token={token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    for _ in 0..30 {
        assert!(
            send_request(TOKEN).await.starts_with("HTTP/1.1 303"),
            "whoever has a token may come as often as they like"
        );
    }
    for _ in 0..20 {
        assert!(send_request("wrong").await.starts_with("HTTP/1.1 401"));
    }
    for guess in ["wrong", TOKEN] {
        let refused = send_request(guess).await;
        assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("rate_limited"), "{refused}");
    }
    let refused = send_request(&format!("ordo_v_{}", "0".repeat(43))).await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: "), "{refused}");
    // Others come from the same address when they come through a proxy: a token that cannot be guessed lets them in.
    let ann = world.token("ann", Role::Viewer).await;
    assert!(send_request(&ann).await.starts_with("HTTP/1.1 303"));
}

#[tokio::test]
async fn whoever_logs_out_is_out_with_every_copy_of_the_cookie() {
    let world = World::new().await;
    let token = world.token("eve", Role::Viewer).await;
    let (session, other) = (login(&world, &token).await, login(&world, &token).await);
    let asks = async |cookie: &str| browse(&world, "GET", "/v1/jobs", &[("cookie", cookie)], "").await;
    asks(&session).await.expect(200);
    assert_eq!(browse(&world, "POST", "/logout", &[OWN, ("cookie", &session)], "").await.status, 303);
    asks(&session).await.refused(401, "unauthorized");
    asks(&other).await.expect(200);
    assert_eq!(browse(&world, "POST", "/logout", &[OWN, ("cookie", &session)], "").await.status, 303, "twice is once");
    world.request_as(&token, "GET", "/v1/jobs", None).await.expect(200);
}
