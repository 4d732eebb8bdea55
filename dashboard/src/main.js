// Where the page begins.

import { mount, redraw } from "./lib/dom.js";
import { retryFailed } from "./lib/fetching.js";
import { start } from "./lib/link.js";
import { onNews, startLive } from "./lib/live.js";
import { startRouter } from "./lib/router.js";
import { accessPage } from "./pages/access.js";
import { chatPage } from "./pages/chat.js";
import { configPage } from "./pages/config.js";
import { consolePage } from "./pages/console.js";
import { contextPage } from "./pages/context.js";
import { latencyPage } from "./pages/latency.js";
import { nodesPage } from "./pages/nodes.js";
import { nowPage } from "./pages/now.js";
import { sessionsPage } from "./pages/sessions.js";
import { usagePage } from "./pages/usage.js";
import { Shell, setPages } from "./shell.js";
import { startApprovals } from "./ui/approvals.js";

// In the order of the menu.
setPages([nowPage, chatPage, sessionsPage, usagePage, contextPage, latencyPage, nodesPage, accessPage, configPage, consolePage]);
startRouter();
mount(document.getElementById("app"), Shell);
startLive();
startApprovals();
onNews("connected", retryFailed);
start();
// Ages grow.
setInterval(redraw, 10_000);
// A phone is turned, or its keyboard opens: what stays at its end has to be put there again.
addEventListener("resize", redraw);

// The frame is kept for when the gateway is away. Without a secure origin there is no worker, and nothing is missing but that.
if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});
