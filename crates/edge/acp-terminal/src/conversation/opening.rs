//! From the greeting to a session with its model and mode.

use std::path::PathBuf;

use acp_client::{ClientError, Reopened, ReopenedSession};
use vocab::visible::headline;

use super::{AgentConversation, ConversationInputs};
use crate::choices::{Choices, SessionSetting};
use crate::view::Beginning;

/// The session that is wanted.
pub struct SessionWishes {
    /// What is started, in words.
    pub agent: String,
    pub cwd: PathBuf,
    /// The method to sign in with.
    pub auth: Option<String>,
    /// The session to go on with.
    pub resume: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
}

/// How it went to open a session.
pub enum OpeningOutcome {
    Ready,
    /// What was asked for is not there, and that was said.
    Missing,
    /// The person did not want to wait.
    GivenUp,
}

impl AgentConversation {
    pub async fn open(
        &mut self,
        wishes: &SessionWishes,
        inputs: &mut ConversationInputs,
    ) -> Result<OpeningOutcome, ClientError> {
        let client = self.client.clone();
        let starting = format!("starting {}", wishes.agent);
        let Some(agent) = self.meanwhile(inputs, &starting, client.initialize()).await.transpose()? else {
            return Ok(OpeningOutcome::GivenUp);
        };
        if let Some(method) = &wishes.auth
            && self.meanwhile(inputs, "signing in", client.authenticate(method)).await.transpose()?.is_none()
        {
            return Ok(OpeningOutcome::GivenUp);
        }
        // A person wants to see what was said; a script wants to go on.
        let replays = !self.once;
        let opening = async {
            match &wishes.resume {
                None => Ok(Some(ReopenedSession { how: Reopened::New, info: client.new_session(&wishes.cwd).await? })),
                Some(id) => client.reopen_only(id, &wishes.cwd, replays).await,
            }
        };
        let Some(opened) = self.meanwhile(inputs, "opening a session", opening).await.transpose()? else {
            return Ok(OpeningOutcome::GivenUp);
        };
        let Some(opened) = opened else {
            let id = wishes.resume.as_deref().unwrap_or_default();
            let text = format!("the agent cannot go on with session {id}: it does not know it, or resumes none");
            self.show(|view, shown| view.notice(&text, shown)).await;
            return Ok(OpeningOutcome::Missing);
        };
        self.begin(&agent.name(), opened).await;
        for (setting, word) in [(SessionSetting::Model, &wishes.model), (SessionSetting::Mode, &wishes.mode)] {
            if let Some(word) = word
                && !self.choose(setting, word, inputs).await
            {
                return Ok(OpeningOutcome::Missing);
            }
        }
        Ok(OpeningOutcome::Ready)
    }

    /// The session is open: it is shown, and then what was told of it meanwhile.
    async fn begin(&mut self, agent: &str, opened: ReopenedSession) {
        self.agent = headline(agent);
        let session = opened.info.session_id.clone().unwrap_or_default();
        self.session = session.clone();
        self.choices = Choices::new(opened.info);
        let how = match opened.how {
            Reopened::New => "new",
            Reopened::Resumed => "resumed",
            Reopened::Loaded => "loaded",
        };
        self.show(|view, shown| view.begun(&Beginning { agent, session: &session, how }, shown)).await;
        for event in std::mem::take(&mut self.early) {
            self.event(event).await;
        }
    }
}
