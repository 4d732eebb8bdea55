// The npm RpcClient through `--mode rpc --attach`: two of them on one session of a gateway that runs.
//   PEER_PACKAGE  directory of the installed package      PEER_AGENT  the program      PEER_CWD  where it is started
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const { RpcClient } = await import(pathToFileURL(path.join(process.env.PEER_PACKAGE, "dist/index.js")).href);
const shim = fileURLToPath(new URL("./shim.mjs", import.meta.url));
let failed = false;
const check = (name, fine, seen) => {
  failed ||= !fine;
  console.log(fine ? `ok ${name}` : `FAIL ${name}: ${JSON.stringify(seen)}`);
};

async function start(args) {
  const client = new RpcClient({ cliPath: shim, cwd: process.env.PEER_CWD, provider: "mock", model: "alpha", args: ["--attach", ...args] });
  client.events = [];
  client.onEvent((event) => client.events.push(event));
  await client.start();
  return client;
}
const text = (client) => client.events.filter((event) => event.assistantMessageEvent?.type === "text_delta").map((event) => event.assistantMessageEvent.delta).join("");

const one = await start(["--session-id", "shared-1"]);
const state = await one.getState();
check("it is on the session that was asked for", state.sessionId === "shared-1", state.sessionId);
await one.promptAndWait("say 5 words");
check("a turn streams", text(one) === "w1 w2 w3 w4 w5", text(one));
const two = await start(["--session", "shared-1"]);
check("a second host comes to the same session", (await two.getState()).sessionId === "shared-1");
check("it knows what was said", (await two.getMessages()).length === 2, await two.getMessages());
one.events.length = 0;
await two.promptAndWait("say 7 words");
for (let tries = 0; tries < 200 && !one.events.some((event) => event.type === "agent_end"); tries++) await new Promise((next) => setTimeout(next, 20));
check("the first one hears the turn of the second", text(one) === "w1 w2 w3 w4 w5 w6 w7", text(one));
await one.stop();
await two.promptAndWait("say 2 words");
check("who goes takes nothing along", (await two.getState()).messageCount === 6, (await two.getState()).messageCount);
const again = await two.newSession();
check("another session", again.cancelled === false && (await two.getState()).sessionId !== "shared-1");
await two.stop();
process.exit(failed ? 1 : 0);
