// A server of tools made with the official SDK (PEER_PACKAGE says where it is). `http` as the first argument: streamable HTTP on
// loopback, the port is told on stdout; otherwise stdin and stdout. What nobody may miss is written to PEER_LOG.

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

const sdk = (file) => import(`${process.env.PEER_PACKAGE}/dist/esm/${file}`);
const { Server } = await sdk("server/index.js");
const { StdioServerTransport } = await sdk("server/stdio.js");
const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = await sdk("types.js");

const log = (line) => appendFileSync(process.env.PEER_LOG, `${line}\n`);
const text = (words) => ({ content: [{ type: "text", text: String(words) }] });
const schema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

const tools = {
  add: async ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
  where: async (_, { server }) => text((await server.listRoots()).roots[0].uri),
  alive: async (_, { server }) => text(JSON.stringify(await server.ping())),
  think: async (_, { server }) => {
    const params = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 1 };
    try {
      return text(await server.createMessage(params));
    } catch (error) {
      return { ...text(`no model: ${error.message}`), isError: true };
    }
  },
  steps: async (_, { extra }) => {
    for (const progress of [1, 2]) {
      const params = { progressToken: extra._meta.progressToken, progress, total: 2, message: "step" };
      await extra.sendNotification({ method: "notifications/progress", params });
    }
    return text("done");
  },
  wait: (_, { extra }) =>
    new Promise((_, reject) => {
      log("waiting");
      extra.signal.addEventListener("abort", () => {
        log("aborted");
        reject(new Error("aborted"));
      });
    }),
};

const make = () => {
  const server = new Server({ name: "peer", version: "1.0.0" }, { capabilities: { tools: {}, logging: {} } });
  const names = Object.keys(tools);
  server.oninitialized = () => log(`client ${server.getClientVersion().name}`);
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const page = names.slice(from, from + 4);
    const annotations = { readOnlyHint: true };
    return {
      tools: page.map((name) => ({ name, description: name, inputSchema: schema, annotations })),
      ...(from + 4 < names.length ? { nextCursor: String(from + 4) } : {}),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    tools[params.name](params.arguments ?? {}, { server, extra }),
  );
  return server;
};

if (process.argv[2] !== "http") {
  await make().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const listener = createServer(async (request, response) => {
    log(`${request.method} ${request.headers["mcp-protocol-version"] ?? "-"}`);
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  listener.listen(0, "127.0.0.1", () => console.log(listener.address().port));
}
