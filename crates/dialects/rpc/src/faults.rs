//! What went wrong, as this family writes it: there are no codes, so a fault of any kind is its text in the response to its
//! command.

use vocab::Fault;
use wire::Out;

use crate::frames::Writer;
use crate::inbound::RpcCall;
use crate::{Errors, Rpc};

impl Rpc {
    /// A refusal that keeps its id in every lineage.
    pub(crate) fn refuse(&self, call: &RpcCall, error: &str, out: &mut Out) {
        out.frames.line(|bytes| {
            Writer::object(bytes, |w| {
                if let Some(id) = &call.id {
                    w.raw("id", id.as_bytes());
                }
                w.text("type", "response").text("command", call.command).flag("success", false).text("error", error);
            });
        });
    }

    /// A command that failed on its way, as the option says.
    pub(crate) fn fail(&self, call: &RpcCall, error: &str, out: &mut Out) {
        match self.options.errors {
            Errors::Pi => self.refuse(call, error, out),
            Errors::Seed => failed(call.id.as_deref(), error, out),
        }
    }

    pub(crate) fn fault(&self, call: &RpcCall, fault: &Fault, out: &mut Out) {
        self.fail(call, &said(fault), out);
    }
}

pub(crate) fn unparsed(error: &str, out: &mut Out) {
    failed(None, error, out);
}

/// `command` is JSON, as it came.
pub(crate) fn unknown(id: Option<&str>, command: Option<&str>, shown: &str, out: &mut Out) {
    out.frames.line(|bytes| {
        Writer::object(bytes, |w| {
            if let Some(id) = id {
                w.raw("id", id.as_bytes());
            }
            w.text("type", "response");
            if let Some(command) = command {
                w.raw("command", command.as_bytes());
            }
            w.flag("success", false).text("error", &format!("Unknown command: {shown}"));
        });
    });
}

pub(crate) fn failed(id: Option<&str>, error: &str, out: &mut Out) {
    out.frames.line(|bytes| {
        Writer::object(bytes, |w| {
            if let Some(id) = id {
                w.raw("id", id.as_bytes());
            }
            w.text("type", "response").text("command", "parse").flag("success", false);
            w.text("error", &format!("Failed to parse command: {error}"));
        });
    });
}

/// A fault in one line for a host: what happened, and what can be done about it.
pub(crate) fn said(fault: &Fault) -> String {
    match fault.hints.first() {
        Some(hint) => format!("{} ({hint})", fault.message),
        None => fault.message.clone(),
    }
}
