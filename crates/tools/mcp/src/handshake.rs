//! What is said before the first call: who we are, which version, which tools there are.

use vocab::{Fault, FaultKind};

use crate::frames::{McpRequest, ToolInfo, ToolPage, UNDERSTOOD, Welcome};
use crate::link::{Link, LinkTrouble};

/// Tools of one server; a server with more is refused: no model could choose among them.
pub const TOOLS_MAX: usize = 256;
/// Pages of the list of tools; a server that goes on is refused.
pub const PAGES_MAX: usize = 64;

/// Introduces us. True: the server has tools.
pub(crate) async fn introduce(link: &dyn Link, version: &str) -> Result<bool, Fault> {
    let raw = ask(link, McpRequest::Initialize { version: version.to_owned() }, "initialize").await?;
    let welcome: Welcome = read(raw.get(), "initialize")?;
    let agreed = welcome.protocol_version;
    if !UNDERSTOOD.contains(&agreed.as_str()) {
        let known = UNDERSTOOD.join(", ");
        let text = format!("speaks version {agreed:?} of the protocol");
        return Err(Fault::new(FaultKind::Unsupported, text).hint(format!("versions understood here: {known}")));
    }
    link.agree(&agreed).await.map_err(|trouble| fault(trouble, "notifications/initialized"))?;
    Ok(welcome.capabilities.tools.is_some())
}

/// All tools, page by page.
pub(crate) async fn list(link: &dyn Link) -> Result<Vec<ToolInfo>, Fault> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let raw = ask(link, McpRequest::ListTools { cursor }, "tools/list").await?;
        let page: ToolPage = read(raw.get(), "tools/list")?;
        tools.extend(page.tools);
        if tools.len() > TOOLS_MAX {
            return Err(Fault::new(FaultKind::Invalid, format!("offers more than {TOOLS_MAX} tools"))
                .hint("most servers can be told which of their tools to offer"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(Fault::new(FaultKind::Invalid, format!("lists its tools on more than {PAGES_MAX} pages")))
}

async fn ask(link: &dyn Link, request: McpRequest, what: &str) -> Result<Box<serde_json::value::RawValue>, Fault> {
    link.ask(request, None).await.map_err(|trouble| fault(trouble, what))
}

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        Fault::new(FaultKind::Invalid, format!("gave an answer to {what} that cannot be read: {error}"))
    })
}

fn fault(trouble: LinkTrouble, what: &str) -> Fault {
    match trouble {
        LinkTrouble::Refused(error) => {
            let text = format!("refused {what}: {} ({})", error.message, error.code);
            Fault::new(FaultKind::Invalid, text)
        }
        LinkTrouble::Failed(text) => Fault::new(FaultKind::Network, text),
        LinkTrouble::Forgotten => Fault::new(FaultKind::Network, format!("forgot the connection before {what}")),
    }
}
