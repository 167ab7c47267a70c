//! What mail servers are given.

use ordo_adapters::email::SmtpOptions;
use ordo_engine::testing::World;
use ordo_engine::testing::incidents::{anna, is_delivered};
use ordo_model::incident::IncidentCommand;

use crate::double::smtp::Smtp;

async fn world() -> (Smtp, World) {
    let (smtp, url) = Smtp::start().await;
    let options = SmtpOptions {
        url,
        from: "Ordo <ordo@example.com>".into(),
        to: vec!["ops@example.com".into(), "Anna <anna@example.com>".into()],
        events: vec!["incident.*".parse().unwrap()],
    };
    (smtp, World::notifying(options.email_sender().unwrap()).await)
}

/// Quoted-printable, as mail is written, back to text.
fn decoded(text: &str) -> String {
    let joined = text.replace("=\n", "");
    let mut parts = joined.split('=');
    let mut plain = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => plain.extend([&[byte], &part.as_bytes()[2..]].concat()),
            None => plain.extend([b"=", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_says_the_same_in_plain_text_and_in_html_and_stands_in_one_thread() {
    let (smtp, world) = world().await;
    let id = world.incident("Checkout is down\nBcc: evil@example.com", None).await;
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    assert!(world.settled(2).await.iter().all(is_delivered));
    let mails = smtp.mails();
    assert_eq!(mails.len(), 2);
    let (first, second) = (&mails[0], &mails[1]);
    assert_eq!((first.from.as_str(), first.to.len()), ("ordo@example.com", 2), "a title adds no recipient");
    let head = |text: &str| text.split_once("\n\n").unwrap().0.replace("\n ", " ");
    assert!(
        head(&first.text)
            .contains("Subject: [ordo] Checkout is down Bcc: evil@example.com: anna started an incident, sev2"),
        "{}",
        head(&first.text)
    );
    assert!(first.text.contains("text/plain") && first.text.contains("text/html"));
    let text = decoded(&first.text);
    assert!(
        text.contains("500 from &lt;!channel&gt; &amp; more") && text.contains("500 from <!channel> & more"),
        "{text}"
    );
    let line = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert_eq!(line(&first.text, "References"), line(&second.text, "References"));
    assert_ne!(line(&first.text, "Message-ID"), line(&second.text, "Message-ID"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_busy_is_tried_again_and_one_that_refuses_is_not() {
    let (smtp, world) = world().await;
    smtp.refuse(&["451 try later"]);
    world.incident("Checkout is down", None).await;
    let notification = world.settled(1).await.remove(0);
    assert!(is_delivered(&notification) && notification.attempts == 2, "{notification:?}");
    smtp.refuse(&["554 not from you"]);
    world.incident("Search is down", None).await;
    let notifications = world.settled(2).await;
    let dead_lettered = notifications.iter().find(|notification| !is_delivered(notification)).unwrap();
    assert_eq!(dead_lettered.attempts, 1);
    assert!(dead_lettered.last_error.as_ref().unwrap().contains("not from you"), "{dead_lettered:?}");
}
