//! What stands below the help of each command: a text for each.

pub(crate) const EXAMPLES: &str = include_str!("examples/all.txt");
pub(crate) const AUDIT_EXAMPLES: &str = include_str!("examples/audit.txt");
pub(crate) const USAGE_EXAMPLES: &str = include_str!("examples/usage.txt");
pub(crate) const RUN_EXAMPLES: &str = include_str!("examples/run.txt");
pub(crate) const REPL_EXAMPLES: &str = include_str!("examples/repl.txt");
pub(crate) const SERVE_EXAMPLES: &str = include_str!("examples/serve.txt");
pub(crate) const LOAF_EXAMPLES: &str = include_str!("examples/loaf.txt");
pub(crate) const ACP_EXAMPLES: &str = include_str!("examples/acp.txt");
pub(crate) const GATEWAY_EXAMPLES: &str = include_str!("examples/gateway.txt");
pub(crate) const LOGIN_EXAMPLES: &str = include_str!("examples/login.txt");
pub(crate) const LOGOUT_EXAMPLES: &str = include_str!("examples/logout.txt");
pub(crate) const DRIVE_EXAMPLES: &str = include_str!("examples/drive.txt");
pub(crate) const SESSIONS_EXAMPLES: &str = include_str!("examples/sessions.txt");
pub(crate) const MODELS_EXAMPLES: &str = include_str!("examples/models.txt");
pub(crate) const CONFIG_EXAMPLES: &str = include_str!("examples/config.txt");
pub(crate) const COMPLETIONS_EXAMPLES: &str = include_str!("examples/completions.txt");
pub(crate) const TOOLS_EXAMPLES: &str = include_str!("examples/tools.txt");
pub(crate) const ACCOUNTS_EXAMPLES: &str = include_str!("examples/accounts.txt");
pub(crate) const DOCTOR_EXAMPLES: &str = include_str!("examples/doctor.txt");
pub(crate) const VERSION_EXAMPLES: &str = include_str!("examples/version.txt");
