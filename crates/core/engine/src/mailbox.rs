//! The way into a session. Mail travels boxed: a channel keeps room for some thirty pieces from its beginning on, and most
//! sessions of a process have none.

use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::session::Mail;

/// Commands waiting for a session; a peer that sends faster waits for the session, never the other way round.
const MAILBOX_MAX: usize = 64;

/// Nobody takes mail there any more.
#[derive(Debug)]
pub(crate) struct MailRefused;

/// One who writes to a session.
#[derive(Clone)]
pub(crate) struct MailSender(mpsc::Sender<Box<Mail>>);

/// The session's own end.
pub(crate) struct Mailbox(mpsc::Receiver<Box<Mail>>);

pub(crate) fn mailbox() -> (MailSender, Mailbox) {
    let (sender, receiver) = mpsc::channel(MAILBOX_MAX);
    (MailSender(sender), Mailbox(receiver))
}

impl MailSender {
    /// Waits while the box is full.
    pub(crate) async fn send(&self, mail: Mail) -> Result<(), MailRefused> {
        self.0.send(Box::new(mail)).await.map_err(|_| MailRefused)
    }
    pub(crate) async fn send_boxed(&self, mail: Box<Mail>) -> Result<(), MailRefused> {
        self.0.send(mail).await.map_err(|_| MailRefused)
    }
    pub(crate) fn try_send(&self, mail: Mail) -> Result<(), TrySendError<Box<Mail>>> {
        self.0.try_send(Box::new(mail))
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl Mailbox {
    pub(crate) fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Mail>> {
        self.0.poll_recv(context).map(|mail| mail.map(|mail| *mail))
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// What is in it, or in the hands of somebody who is putting it in, is still to be taken out.
    pub(crate) fn close(&mut self) {
        self.0.close();
    }
}
