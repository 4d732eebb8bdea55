// A server of the official npm SDK, over HTTP and over WebSocket, for our own client. Prints its port; ends with its stdin.
// Its agent asks whether it may, says what it was told, word by word, and waits to be stopped at the word `wait`.
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.PEER_MODULES;
const sdk = path.join(modules, "@agentclientprotocol/sdk/dist");
const load = (file) => import(pathToFileURL(path.join(sdk, file)).href);
const [{ agent }, { AcpServer }, { createNodeHttpHandler, createNodeWebSocketUpgradeHandler }] = await Promise.all([
  load("v1/stable/acp.js"),
  load("transports/server.js"),
  load("transports/node-adapter.js"),
]);
const { WebSocketServer } = createRequire(path.join(modules, "x.js"))("ws");

const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

function createAgent() {
  const stopped = new Map();
  let count = 0;
  return agent({ name: "sdk-server" })
    .onRequest("initialize", () => ({
      protocolVersion: 1,
      agentCapabilities: { loadSession: true },
      agentInfo: { name: "sdk-server", version: "1" },
    }))
    .onRequest("session/new", () => ({ sessionId: `s${++count}` }))
    .onRequest("session/load", async ({ params, client }) => {
      const content = { type: "text", text: "as before" };
      await client.notify("session/update", {
        sessionId: params.sessionId,
        update: { sessionUpdate: "agent_message_chunk", content },
      });
      return {};
    })
    .onNotification("session/cancel", ({ params }) => stopped.get(params.sessionId)?.())
    .onRequest("session/prompt", async ({ params, client }) => {
      const { sessionId, prompt } = params;
      const toolCall = { toolCallId: "c1", title: "Say something", kind: "other", status: "pending" };
      const { outcome } = await client.request("session/request_permission", { sessionId, toolCall, options: OPTIONS });
      const words = outcome.optionId === "yes" ? prompt[0].text.split(" ") : ["I", "may", "not"];
      for (const word of words) {
        if (word === "wait") {
          await new Promise((stop) => stopped.set(sessionId, stop));
          return { stopReason: "cancelled" };
        }
        const content = { type: "text", text: `${word} ` };
        await client.notify("session/update", { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
      }
      return { stopReason: "end_turn" };
    });
}

const acp = new AcpServer({ createAgent });
const server = http.createServer(createNodeHttpHandler(acp));
server.on("upgrade", createNodeWebSocketUpgradeHandler(acp, new WebSocketServer({ noServer: true })));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
