//! Signatures of deliveries, by the vectors that their senders publish.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::Timestamp;
use ordo_model::hook::{Headers, Scheme, Unverified, verify};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_ms(seconds * 1_000).unwrap()
}

fn check(scheme: &Scheme, secret: &str, headers: &[(&str, &str)], payload: &[u8], now: i64) -> Result<(), Unverified> {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    verify(scheme, secret, Headers(&headers), payload, at(now))
}

const HMAC: Scheme = Scheme::Hmac { header: None };

/// The vector of GitHub's documentation.
#[test]
fn github() {
    const SECRET: &str = "It's a Secret to Everybody";
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let headers = [("x-hub-signature-256", signature)];
    let check = |secret, headers: &[(&str, &str)], payload| check(&Scheme::Github, secret, headers, payload, 0);
    assert_eq!(check(SECRET, &headers, b"Hello, World!"), Ok(()));
    assert_eq!(check(SECRET, &headers, b"Hello, World"), Err(Unverified::Wrong));
    assert_eq!(check("another", &headers, b"Hello, World!"), Err(Unverified::Wrong));
    assert_eq!(check(SECRET, &[], b"Hello, World!"), Err(Unverified::Missing("X-Hub-Signature-256".into())));
    let unreadable = Err(Unverified::Unreadable("X-Hub-Signature-256".into()));
    for bad in ["", "sha256=", "sha256=zz", "sha1=00", &signature["sha256=".len()..]] {
        assert_eq!(check(SECRET, &[("X-Hub-Signature-256", bad)], b"Hello, World!"), unreadable, "{bad:?}");
    }
    // The beginning of the right signature is not the right signature.
    assert_eq!(check(SECRET, &[("X-Hub-Signature-256", &signature[..20])], b"Hello, World!"), unreadable);
    assert_eq!(check(SECRET, &[("X-Hub-Signature-256", &signature[..21])], b"Hello, World!"), Err(Unverified::Wrong));
}

const SLACK_BODY: &[u8] = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&\
channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

/// The vector of Slack's documentation.
#[test]
fn slack() {
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const TIME: i64 = 1_531_420_618;
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let headers = [("X-Slack-Request-Timestamp", "1531420618"), ("X-Slack-Signature", signature)];
    let check = |headers: &[(&str, &str)], payload, now| check(&Scheme::Slack, SECRET, headers, payload, now);
    assert_eq!(check(&headers, SLACK_BODY, TIME), Ok(()));
    assert_eq!(check(&headers, SLACK_BODY, TIME + 300), Ok(()));
    assert_eq!(check(&headers, SLACK_BODY, TIME - 300), Ok(()));
    assert_eq!(check(&headers, SLACK_BODY, TIME + 301), Err(Unverified::OtherTime));
    assert_eq!(check(&headers, SLACK_BODY, TIME - 301), Err(Unverified::OtherTime));
    assert_eq!(check(&headers, b"token=", TIME), Err(Unverified::Wrong));
    let moved = [("X-Slack-Request-Timestamp", "1531420619"), headers[1]];
    assert_eq!(check(&moved, SLACK_BODY, TIME), Err(Unverified::Wrong));
    for time in ["", "soon", "99999999999999999999", "9223372036854775807"] {
        let headers = [("X-Slack-Request-Timestamp", time), headers[1]];
        assert!(matches!(check(&headers, SLACK_BODY, TIME), Err(Unverified::Unreadable(_))), "{time}");
    }
}

/// Stripe publishes no secret: this one was made with `openssl dgst -sha256 -hmac`.
#[test]
fn stripe() {
    const SECRET: &str = "whsec_test_secret";
    const BODY: &[u8] = br#"{"id": "evt_1", "object": "event"}"#;
    const TIME: i64 = 1_492_774_577;
    const GOOD: &str = "09357d4fb8d9eba6f07fdea6b2428fa819063ec7bb7f9eca18b88cf0ff729476";
    let check = |header: &str, now| check(&Scheme::Stripe, SECRET, &[("Stripe-Signature", header)], BODY, now);
    assert_eq!(check(&format!("t=1492774577,v1={GOOD},v0=6ffbb59b"), TIME), Ok(()));
    // While a secret is replaced there are two.
    assert_eq!(check(&format!("t=1492774577, v1={}, v1={GOOD}", "00".repeat(32)), TIME), Ok(()));
    assert_eq!(check(&format!("t=1492774577,v1={GOOD}"), TIME + 301), Err(Unverified::OtherTime));
    assert_eq!(check(&format!("t=1492774578,v1={GOOD}"), TIME), Err(Unverified::Wrong));
    assert_eq!(check(&format!("t=1492774577,v0={GOOD}"), TIME), Err(Unverified::Wrong));
    assert_eq!(check("t=1492774577", TIME), Err(Unverified::Wrong));
    // What cannot be a signature takes nobody's place; the sixth that can be one is not looked at.
    let (bad, other) = ("v1=zz,v1=00,".repeat(100), format!("v1={},", "00".repeat(32)));
    assert_eq!(check(&format!("t=1492774577,{bad}{}v1={GOOD}", other.repeat(4)), TIME), Ok(()));
    assert_eq!(check(&format!("t=1492774577,{}v1={GOOD}", other.repeat(5)), TIME), Err(Unverified::Wrong));
    assert_eq!(check(&format!("v1={GOOD}"), TIME), Err(Unverified::Unreadable("Stripe-Signature".into())));
}

/// The vector of the Standard Webhooks libraries.
#[test]
fn standard_webhooks() {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const TIME: i64 = 1_614_265_330;
    const GOOD: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let headers = |signature| {
        let id = ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek");
        [id, ("webhook-timestamp", "1614265330"), ("webhook-signature", signature)]
    };
    let check = |secret, signature, now| check(&Scheme::Standard, secret, &headers(signature), BODY, now);
    assert_eq!(check(SECRET, GOOD, TIME), Ok(()));
    assert_eq!(check("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", GOOD, TIME), Ok(()));
    let several = format!("v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,x {GOOD}");
    assert_eq!(check(SECRET, &several, TIME), Ok(()));
    assert_eq!(check(SECRET, "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=", TIME), Err(Unverified::Wrong));
    assert_eq!(check(SECRET, GOOD.trim_start_matches("v1,"), TIME), Err(Unverified::Wrong));
    assert_eq!(check(SECRET, GOOD, TIME + 301), Err(Unverified::OtherTime));
    assert_eq!(check(SECRET, GOOD, TIME - 301), Err(Unverified::OtherTime));
    assert_eq!(check("whsec_not base64", GOOD, TIME), Err(Unverified::BadSecret));
}

/// `a.b` signed at one time must not be `a` signed at another.
#[test]
fn an_id_of_standard_webhooks_has_no_dot() {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let check = |id, time| {
        let headers =
            [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE=")];
        check(&Scheme::Standard, SECRET, &headers, b"x", 1_614_265_330)
    };
    assert_eq!(check("msg.1614265330", "1614265330"), Err(Unverified::Unreadable("webhook-id".into())));
    assert_eq!(check("", "1614265330"), Err(Unverified::Unreadable("webhook-id".into())));
    assert_eq!(check("msg", "+1614265330"), Err(Unverified::Unreadable("webhook-timestamp".into())));
    assert_eq!(check("msg", "1614265330"), Err(Unverified::Wrong));
}

/// Test case 2 of RFC 4231.
#[test]
fn plain_hmac() {
    const BODY: &[u8] = b"what do ya want for nothing?";
    const GOOD: &str = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let prefixed = format!("sha256={GOOD}");
    let named = Scheme::Hmac { header: Some("X-Gitea-Signature".into()) };
    let check = |scheme: &Scheme, header: &str, value: &str| check(scheme, "Jefe", &[(header, value)], BODY, 0);
    assert_eq!(check(&HMAC, "X-Signature-256", GOOD), Ok(()));
    assert_eq!(check(&HMAC, "X-Signature", &prefixed), Ok(()));
    assert_eq!(check(&HMAC, "X-Signature", &GOOD.to_uppercase()), Ok(()));
    assert_eq!(check(&named, "x-gitea-signature", GOOD), Ok(()));
    assert_eq!(check(&named, "X-Signature", GOOD), Err(Unverified::Missing("X-Gitea-Signature".into())));
    assert_eq!(check(&HMAC, "X-Other", GOOD), Err(Unverified::Missing("X-Signature-256".into())));
    assert_eq!(check(&HMAC, "X-Signature", &"00".repeat(32)), Err(Unverified::Wrong));
}

#[test]
fn bearer() {
    let check = |value: &str| check(&Scheme::Bearer, "s3cret", &[("Authorization", value)], b"", 0);
    assert_eq!(check("Bearer s3cret"), Ok(()));
    assert_eq!(check("bearer  s3cret "), Ok(()));
    for wrong in ["Bearer s3cre", "Bearer s3cret2", "Bearer "] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
    assert!(matches!(check("Basic s3cret"), Err(Unverified::Unreadable(_))));
}
