// A word from the browser while nobody looks at the page. The browser is asked for it only when somebody presses the button.

import { redraw } from "../lib/dom.js";
import { onNews } from "../lib/live.js";
import { remember, remembered } from "../lib/remember.js";
import { go } from "../lib/router.js";
import { questionOf } from "./asked.js";
import { Button, toast } from "./parts.js";

// Characters of what is asked that a notification carries.
const BODY_CHARS_MAX = 200;

const TOLD = "You are told when a question opens while you look elsewhere.";

function can() {
  return "Notification" in window && window.isSecureContext;
}

function isNotifying() {
  return can() && Notification.permission === "granted" && remembered("notify", false) === true;
}

async function switchOn() {
  const answer = await Notification.requestPermission();
  remember("notify", answer === "granted");
  if (answer !== "granted") toast("This browser does not let the page notify you. Its settings for this site can.");
  else toast(TOLD);
  redraw();
}

export function NotifyButton() {
  if (!can()) return null;
  if (isNotifying()) return Button({ kind: "quiet", title: TOLD, onclick: () => (remember("notify", false), redraw()) }, "Stop notifying me");
  return Button({ kind: "small", title: TOLD, onclick: switchOn }, "Notify me");
}

function show(ask) {
  const title = `tillerman: ${questionOf(ask)}`;
  const body = `${ask.title || ask.sessionId}: ${ask.summary}`.slice(0, BODY_CHARS_MAX);
  // The same question in two tabs is one notification.
  const options = { body, tag: ask.askId };
  try {
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      go("chat", ask.sessionId);
      shown.close();
    };
  } catch {
    // Browsers of phones only let a service worker do it.
    navigator.serviceWorker?.getRegistration().then((worker) => worker?.showNotification(title, options)).catch(() => {});
  }
}

export function startNotifying() {
  onNews("ask", (ask, event) => {
    if (event === "ask" && document.hidden && isNotifying()) show(ask);
  });
}
