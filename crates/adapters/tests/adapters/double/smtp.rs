//! A mail server of a few lines: accepts what it is given, or refuses as the test says.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Default)]
pub(crate) struct Smtp(Arc<Mutex<SmtpState>>);

#[derive(Default)]
struct SmtpState {
    mails: Vec<Mail>,
    /// What is answered to the next mails, in the place of 250.
    refusals: Vec<&'static str>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) text: String,
}

impl Smtp {
    pub(crate) async fn start() -> (Smtp, String) {
        let smtp = Smtp::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let served = smtp.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(talk(served.clone(), stream));
            }
        });
        (smtp, url)
    }

    pub(crate) fn refuse(&self, answers: &[&'static str]) {
        self.0.lock().unwrap().refusals.extend(answers);
    }

    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.0.lock().unwrap().mails.clone()
    }

    fn verdict(&self, mail: Mail) -> String {
        let mut inside = self.0.lock().unwrap();
        if !inside.refusals.is_empty() {
            return inside.refusals.remove(0).to_owned();
        }
        inside.mails.push(mail);
        "250 taken".to_owned()
    }
}

async fn talk(smtp: Smtp, stream: TcpStream) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut mail = Mail::default();
    write.write_all(b"220 double\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let word = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match word.as_str() {
            "EHLO" | "HELO" => "250 double".to_owned(),
            "MAIL" => {
                mail = Mail { from: address(&line), ..Mail::default() };
                "250 yes".to_owned()
            }
            "RCPT" => {
                mail.to.push(address(&line));
                "250 yes".to_owned()
            }
            "DATA" => {
                write.write_all(b"354 go on\r\n").await?;
                while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                    mail.text.push_str(line.strip_prefix('.').unwrap_or(&line));
                    mail.text.push('\n');
                }
                smtp.verdict(std::mem::take(&mut mail))
            }
            "QUIT" => "221 bye".to_owned(),
            _ => "250 ok".to_owned(),
        };
        write.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}

fn address(line: &str) -> String {
    line.split(['<', '>']).nth(1).unwrap_or_default().to_owned()
}
