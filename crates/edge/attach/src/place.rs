//! Where a gateway is: what somebody named, or what the files of this home say.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use gateway::{GatewayFile, RunningGateway};
use net::Url;
use vocab::{Fault, FaultKind, Secret};

/// Where to attach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttachTo {
    /// To the gateway of this home; without one it is an error.
    Here,
    /// The same, but without one the process does the work itself.
    Auto,
    Place(GatewayPlace),
}

/// A gateway that can be dialled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GatewayPlace {
    Url(Url),
    Socket(PathBuf),
}

const SCHEMES: [(&str, &str); 4] =
    [("ws://", "http://"), ("wss://", "https://"), ("http://", "http://"), ("https://", "https://")];
const SOCKET: &str = "unix:";
/// What the flag means without a value.
pub(crate) const HERE: &str = "here";

impl AttachTo {
    /// Whether a word that follows the flag is its value.
    pub(crate) fn is_named_by(word: &str) -> bool {
        let is_url = SCHEMES.iter().any(|(scheme, _)| word.starts_with(scheme));
        word == "auto" || is_url || word.starts_with(SOCKET) || (word.starts_with('/') && word.ends_with(".sock"))
    }
}

impl FromStr for AttachTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" | HERE => return Ok(AttachTo::Here),
            "auto" => return Ok(AttachTo::Auto),
            _ => {}
        }
        if let Some(path) = text.strip_prefix(SOCKET).or(text.starts_with('/').then_some(text)) {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            return Ok(AttachTo::Place(GatewayPlace::Socket(path)));
        }
        let Some((url, rest)) = SCHEMES.iter().find_map(|(scheme, is)| Some((*is, text.strip_prefix(scheme)?))) else {
            return Err("there is: auto, a URL (ws, wss, http, https), or the path of a socket".to_owned());
        };
        if rest.contains(['?', '#']) {
            return Err("an address has no query here; the token comes from TILLERMAN_GATEWAY_TOKEN".to_owned());
        }
        Ok(AttachTo::Place(GatewayPlace::Url(Url::parse(&format!("{url}{rest}"))?)))
    }
}

impl fmt::Display for GatewayPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatewayPlace::Url(url) => f.write_str(url.as_str().trim_end_matches('/')),
            GatewayPlace::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

impl GatewayPlace {
    /// It reads the same files as we do.
    pub fn is_this_machine(&self) -> bool {
        matches!(self, GatewayPlace::Socket(_))
    }
}

/// The gateway of this home, as its files tell of it.
pub struct OwnGateway<'a> {
    /// Directory of its files.
    pub place: &'a Path,
    /// What the configuration says that it is entered with.
    pub token: Option<Secret>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct FoundGateway {
    pub place: GatewayPlace,
    pub token: Option<Secret>,
}

impl FoundGateway {
    /// Refuses a way on which others could read the token.
    pub fn keeps_token(&self) -> Result<(), Fault> {
        match &self.place {
            GatewayPlace::Url(url) if self.token.is_some() && !url.is_https() && !url.is_loopback() => {
                let message = format!("the token would travel to {} for everybody to read", self.place);
                Err(Fault::new(FaultKind::Invalid, message).hint("use wss:// or https://"))
            }
            GatewayPlace::Url(_) | GatewayPlace::Socket(_) => Ok(()),
        }
    }
}

impl OwnGateway<'_> {
    /// `None`: none runs, and that is nothing wrong. `given`: the token that the user handed over.
    pub fn find(&self, to: &AttachTo, given: Option<Secret>) -> Result<Option<FoundGateway>, Fault> {
        let failed = |error: std::io::Error| Fault::new(FaultKind::Internal, format!("the gateway's file: {error}"));
        let (running, nameless) = match RunningGateway::look(self.place).map_err(failed)? {
            RunningGateway::None => (None, None),
            RunningGateway::Named(file) => (Some(file), None),
            RunningGateway::Nameless(nameless) => (None, Some(nameless)),
        };
        if let AttachTo::Place(place) = to {
            let token = match given {
                // At a socket its owner is asked for, and needs none; a token is for some other gateway then.
                _ if place.is_this_machine() => None,
                Some(token) => Some(token),
                // Ours is for our own gateway alone: nobody else gets to see it.
                None if is_own(place, running.as_ref()) => self.own_token(),
                None => None,
            };
            return Ok(Some(FoundGateway { place: place.clone(), token }));
        }
        let place = running.and_then(|file| match (file.socket, file.url) {
            (Some(socket), _) => Some(GatewayPlace::Socket(socket)),
            (None, Some(url)) => Url::parse(&url).ok().map(GatewayPlace::Url),
            (None, None) => None,
        });
        match (place, to) {
            (Some(place), _) => {
                let token = if place.is_this_machine() { None } else { given.or_else(|| self.own_token()) };
                Ok(Some(FoundGateway { place, token }))
            }
            (None, AttachTo::Auto) => Ok(None),
            (None, _) if let Some(nameless) = nameless => Err(nameless.fault()),
            (None, _) => Err(Fault::new(FaultKind::Invalid, "no gateway runs for this home")
                .hint("start one with `tillerman gateway`, or use `--attach auto` to go on without")),
        }
    }

    fn own_token(&self) -> Option<Secret> {
        self.token.clone().or_else(|| gateway::read_main_token(self.place).ok().flatten())
    }
}

fn is_own(place: &GatewayPlace, running: Option<&GatewayFile>) -> bool {
    let Some(file) = running else { return false };
    let GatewayPlace::Url(url) = place else { return false };
    let own = file.url.as_deref().and_then(|own| Url::parse(own).ok());
    own.is_some_and(|own| own.origin() == url.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_url_a_socket_or_this_home() {
        let read = |text: &str| match text.parse::<AttachTo>() {
            Ok(AttachTo::Here) => "here".to_owned(),
            Ok(AttachTo::Auto) => "auto".to_owned(),
            Ok(AttachTo::Place(place)) => place.to_string(),
            Err(_) => "refused".to_owned(),
        };
        for (text, meant) in [
            ("", "here"),
            ("auto", "auto"),
            ("ws://127.0.0.1:1", "http://127.0.0.1:1"),
            ("wss://example.org/agents/", "https://example.org/agents"),
            ("https://[::1]:9", "https://[::1]:9"),
            ("/run/g.sock", "/run/g.sock"),
            ("unix:/run/g.sock", "/run/g.sock"),
            ("ftp://x", "refused"),
            ("ws://u:p@h", "refused"),
            ("ws://h/?token=x", "refused"),
            ("localhost", "refused"),
        ] {
            assert_eq!(read(text), meant, "{text}");
        }
    }

    #[test]
    fn our_token_goes_to_our_gateway_alone() {
        let home = tempfile::tempdir().unwrap();
        let token = gateway::make_main_token(home.path()).unwrap();
        let own = OwnGateway { place: home.path(), token: None };
        let place = |text: &str| text.parse::<AttachTo>().unwrap();
        let found = own.find(&place("ws://127.0.0.1:4000"), None).unwrap().unwrap();
        assert_eq!(found.token, None, "no gateway of ours is there");
        let given = own.find(&place("ws://127.0.0.1:4000"), Some(token.clone())).unwrap().unwrap();
        assert_eq!(given.token, Some(token.clone()));
        let socket = own.find(&place("unix:/run/g.sock"), Some(token)).unwrap().unwrap();
        assert_eq!(socket.token, None, "a socket asks for no token");
        assert!(own.find(&AttachTo::Auto, None).unwrap().is_none());
        let fault = own.find(&AttachTo::Here, None).unwrap_err();
        assert!(fault.message.contains("no gateway runs") && fault.hints[0].contains("--attach auto"), "{fault}");
    }
}
