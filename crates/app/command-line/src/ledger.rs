//! What `audit` and `usage` take.

use clap::{Args, Subcommand, ValueEnum, value_parser};
use vocab::AUDIT_LINES_MAX;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub verb: Option<AuditVerb>,
    /// Only of this session: an id, the start or end of one, or `latest`.
    #[arg(short, long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only what this one did, as the list shows it: user:ann, controller:zed, token:ci.
    #[arg(long, value_name = "WHO")]
    pub by: Option<String>,
    /// Most lines shown, up to 10000; `--before` shows older ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u64).range(..=AUDIT_LINES_MAX as u64))]
    pub limit: u64,
    /// Only lines before the one with this number: older ones than were shown.
    #[arg(long, value_name = "LINE")]
    pub before: Option<u64>,
    /// One JSON object per line.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand, Debug)]
pub enum AuditVerb {
    /// Check that no line, and no entry that a line stands for, was changed; prints the head.
    Verify {
        /// A head that an earlier check printed: it must still be there.
        #[arg(long, value_name = "HEAD")]
        head: Option<String>,
    },
}

#[derive(Args, Debug)]
pub struct UsageArgs {
    /// By what it is added up.
    #[arg(long, value_enum, default_value_t = UsageSumsBy::Day)]
    pub by: UsageSumsBy,
    /// How many days back, today included (UTC).
    #[arg(short, long, value_name = "N", default_value_t = 30)]
    pub days: u32,
    /// One JSON object per row.
    #[arg(long)]
    pub json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum UsageSumsBy {
    Day,
    Model,
    Session,
    Principal,
    Tool,
}
