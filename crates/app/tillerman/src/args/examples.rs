//! What stands below the help of each command: a text for each.

pub(super) const EXAMPLES: &str = include_str!("examples/all.txt");
pub(super) const AUDIT_EXAMPLES: &str = include_str!("examples/audit.txt");
pub(super) const USAGE_EXAMPLES: &str = include_str!("examples/usage.txt");
pub(super) const RUN_EXAMPLES: &str = include_str!("examples/run.txt");
pub(super) const REPL_EXAMPLES: &str = include_str!("examples/repl.txt");
pub(super) const SERVE_EXAMPLES: &str = include_str!("examples/serve.txt");
pub(super) const LOAF_EXAMPLES: &str = include_str!("examples/loaf.txt");
pub(super) const ACP_EXAMPLES: &str = include_str!("examples/acp.txt");
pub(super) const GATEWAY_EXAMPLES: &str = include_str!("examples/gateway.txt");
pub(super) const LOGIN_EXAMPLES: &str = include_str!("examples/login.txt");
pub(super) const LOGOUT_EXAMPLES: &str = include_str!("examples/logout.txt");
pub(super) const DRIVE_EXAMPLES: &str = include_str!("examples/drive.txt");
pub(super) const SESSIONS_EXAMPLES: &str = include_str!("examples/sessions.txt");
pub(super) const MODELS_EXAMPLES: &str = include_str!("examples/models.txt");
pub(super) const CONFIG_EXAMPLES: &str = include_str!("examples/config.txt");
pub(super) const COMPLETIONS_EXAMPLES: &str = include_str!("examples/completions.txt");
pub(super) const TOOLS_EXAMPLES: &str = include_str!("examples/tools.txt");
pub(super) const ACCOUNTS_EXAMPLES: &str = include_str!("examples/accounts.txt");
pub(super) const DOCTOR_EXAMPLES: &str = include_str!("examples/doctor.txt");
pub(super) const VERSION_EXAMPLES: &str = include_str!("examples/version.txt");
