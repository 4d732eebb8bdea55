// The official ACP SDK through `acp --attach`: two editors on one session of a gateway that runs.
//   PEER_PACKAGE  directory of the installed SDK      PEER_AGENT  the program      PEER_CWD  where it is started
import { spawn } from "node:child_process";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const sdk = await import(pathToFileURL(path.join(process.env.PEER_PACKAGE, "dist/v1/unstable/acp.js")).href);
const cwd = process.env.PEER_CWD;
let failed = false;
const check = (name, fine, seen) => {
  failed ||= !fine;
  console.log(fine ? `ok ${name}` : `FAIL ${name}: ${JSON.stringify(seen)}`);
};

class Editor {
  updates = [];
  asked = 0;
  constructor(permit) {
    this.child = spawn(process.env.PEER_AGENT, ["acp", "--attach"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
    this.exited = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(code ?? signal)));
    const app = sdk.client({ name: "checks" });
    app.onNotification(sdk.methods.client.session.update, ({ params }) => void this.updates.push(params));
    app.onRequest(sdk.methods.client.session.requestPermission, async () => {
      this.asked++;
      return { outcome: await permit() };
    });
    this.connection = app.connect(sdk.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(this.child.stdout)));
    this.agent = this.connection.agent;
  }
  text() {
    return this.updates.filter((it) => it.update.sessionUpdate === "agent_message_chunk").map((it) => it.update.content.text).join("");
  }
  ask(method, params) {
    return this.agent.request(method, params);
  }
}

const one = new Editor(() => new Promise(() => {}));
const two = new Editor(async () => ({ outcome: "selected", optionId: "allow_once" }));
for (const editor of [one, two]) await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
const { sessionId } = await one.ask("session/new", { cwd, mcpServers: [] });
const said = await one.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "say 5 words" }] });
check("a turn through the proxy", said.stopReason === "end_turn" && one.text() === "w1 w2 w3 w4 w5", [said, one.text()]);
await two.ask("session/load", { sessionId, cwd, mcpServers: [] });
check("a second editor is told the past", two.text() === "w1 w2 w3 w4 w5", two.text());
const text = 'call write_file {"path":"by-editor","content":"x"} then say done';
const asked = await one.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
check("a question of the first is answered by the second", asked.stopReason === "end_turn" && one.asked === 1 && two.asked === 1, [asked, one.asked, two.asked]);
// Two processes: what the first has heard is still on its way to the second.
for (let tries = 0; tries < 100 && !two.text().endsWith("done"); tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
check("both hear the end", one.text().endsWith("done") && two.text().endsWith("done"), [one.text(), two.text()]);
one.child.stdin.end();
check("the end of stdin ends the proxy", (await one.exited) === 0);
const after = await two.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "say 2 words" }] });
check("and nothing else", after.stopReason === "end_turn", after);
two.child.kill();
process.exit(failed ? 1 : 0);
