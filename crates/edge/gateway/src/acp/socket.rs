//! A WebSocket as a connection: one stream for everything, with the same windows.

use std::future::poll_fn;
use std::sync::Arc;

use host::{MessageSink, MessageStream};
use tokio::time::timeout;
use wire::FlowWord;

use crate::acp::connection::AcpConnection;
use crate::entrance::MessagePipe;
use crate::limits::{ACP_WINDOW_BYTES, ENDING};

/// The pipe for the dialect, and what carries messages between it and the socket until one of them ends.
pub(crate) fn joined(id: Arc<str>, (hears, says): MessagePipe) -> (MessagePipe, impl Future<Output = ()> + Send) {
    let connection = AcpConnection::new(id, String::new(), true);
    connection.word(&FlowWord::Credit { session: String::new(), bytes: ACP_WINDOW_BYTES });
    let (stream, sink) = connection.pipe();
    ((Box::new(stream), Box::new(sink)), carry(connection, hears, says))
}

async fn carry(connection: Arc<AcpConnection>, hears: Box<dyn MessageStream>, mut says: Box<dyn MessageSink>) {
    let listening = listen(&connection, hears);
    let speaking = async {
        loop {
            let message = match poll_fn(|context| connection.poll_message(context)).await {
                Ok(message) => message,
                Err(close) => {
                    let _ = timeout(ENDING, poll_fn(|context| says.poll_close(context, &close))).await;
                    return;
                }
            };
            if poll_fn(|context| says.poll_send(context, &message)).await.is_err() {
                return connection.end();
            }
        }
    };
    let mut listening = std::pin::pin!(listening);
    let mut speaking = std::pin::pin!(speaking);
    // The last word is said also to one that has stopped speaking.
    tokio::select! {
        () = &mut speaking => {}
        () = &mut listening => speaking.await,
    }
    connection.end();
}

async fn listen(connection: &AcpConnection, mut hears: Box<dyn MessageStream>) {
    while let Some(message) = poll_fn(|context| hears.poll_receive(context)).await {
        if !connection.post_raw(message).await {
            return;
        }
    }
    connection.end();
}
