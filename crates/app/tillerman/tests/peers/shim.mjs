// The npm RpcClient can only start `node FILE ...`; this file is that FILE for an agent that is a program.
// It passes arguments, streams, signals and the exit code through, and says nothing itself.
import { spawn } from "node:child_process";
import { constants } from "node:os";

const agent = spawn(process.env.PEER_AGENT, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(signal, () => agent.kill(signal));
agent.on("error", (why) => {
  console.error(`cannot start ${process.env.PEER_AGENT}: ${why.message}`);
  process.exit(127);
});
agent.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
