//! Going on with a session after a new start (section 10.9): resume where the agent offers it, else load, else a new one.
//! What it came to is reported, never hidden.

use std::path::Path;

use acp_types::SessionResponse;

use crate::client::AcpClient;
use crate::error::ClientError;

/// How a session came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reopened {
    Resumed,
    /// Its conversation was told again, as events.
    Loaded,
    /// The agent cannot, or does not know it: this one is new and empty.
    New,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ReopenedSession {
    pub how: Reopened,
    pub info: SessionResponse,
}

impl AcpClient {
    /// With `replay`, load comes before resume: a person wants to see what was said.
    pub async fn reopen(&self, session: &str, cwd: &Path, replay: bool) -> Result<ReopenedSession, ClientError> {
        match self.reopen_only(session, cwd, replay).await? {
            Some(opened) => Ok(opened),
            None => Ok(ReopenedSession { how: Reopened::New, info: self.new_session(cwd).await? }),
        }
    }

    /// The same without the last step: `None` where neither way leads there.
    pub async fn reopen_only(
        &self,
        session: &str,
        cwd: &Path,
        replay: bool,
    ) -> Result<Option<ReopenedSession>, ClientError> {
        let ways = if replay { [Reopened::Loaded, Reopened::Resumed] } else { [Reopened::Resumed, Reopened::Loaded] };
        for how in ways {
            let Some(agent) = self.agent() else { continue };
            let capabilities = &agent.agent_capabilities;
            let tried = match how {
                Reopened::Resumed if capabilities.session(|can| &can.resume) => self.resume(session, cwd).await,
                Reopened::Loaded if capabilities.can_load() => self.load(session, cwd).await,
                _ => continue,
            };
            match tried {
                Ok(info) => return Ok(Some(ReopenedSession { how, info })),
                Err(error) if error.is_session_gone() || error.is_method_unknown() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
