//! What `gateway` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use host::{NoteFormat, NoteLevel};

use super::Basics;

#[derive(Args, Debug)]
pub struct GatewayArgs {
    /// Address to listen on; other machines reach us by it where it is not this one's own.
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<String>,
    /// Port to listen on; 0 takes any that is free.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Certificate (PEM) to speak TLS with; read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// Speak TLS with a certificate of our own, made once.
    #[arg(long, conflicts_with = "tls_cert")]
    pub tls_self_signed: bool,
    /// Where the Unix socket is; `none` for none.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Listen for other machines without TLS, or before there is a token: callers from there need one all the same.
    #[arg(long)]
    pub i_understand_no_auth: bool,
    /// Do not start where the configuration has something that is not known.
    #[arg(long)]
    pub strict: bool,
    /// Log what matters at least this much: error, warn, info or debug.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: NoteLevel,
    /// How lines of the log on stderr are written: text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: NoteFormat,
    #[command(flatten)]
    pub basics: Basics,
    #[command(subcommand)]
    pub verb: Option<GatewayVerb>,
}

#[derive(Subcommand, Debug)]
pub enum GatewayVerb {
    /// Say whether one runs here, where it listens, and how it is.
    Status {
        /// What it says of itself, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// End the one that runs here.
    Stop,
    /// Print the token that may do everything; make, list and take back others.
    Token(TokenArgs),
    /// Print the certificate that `--tls-self-signed` has made, for clients that are to trust it.
    Certificate,
    /// Print where the one that runs here can be reached.
    Url {
        /// With the token in it, for a browser on this machine.
        #[arg(long)]
        with_token: bool,
        /// The configuration that it was started with, where that is not your own.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub struct TokenArgs {
    /// Make a new one; the old one does not work any more.
    #[arg(long, conflicts_with_all = ["name", "list", "revoke"])]
    pub rotate: bool,
    /// Make one of this name; it is shown once.
    #[arg(long, value_name = "NAME", requires = "scopes", conflicts_with_all = ["list", "revoke"])]
    pub name: Option<String>,
    /// What it may do: read, chat, tools, admin.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "name")]
    pub scopes: Vec<String>,
    /// Show the names.
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Take the one of this name back.
    #[arg(long, value_name = "NAME")]
    pub revoke: Option<String>,
    /// The configuration that the gateway is started with, where that is not your own.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}
