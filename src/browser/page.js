// What a page shows, how it is drawn, and what it asks of its server. What strangers sent stays text: nothing here parses HTML.
import { html, render } from "htm/preact";

export { html } from "htm/preact";

export const $ = (id) => document.getElementById(id);

/** The properties of the page's outermost component. */
export const shown = { connection: "connecting" };
let drawPage;
let look;

/** Changes what the page shows, and has drawn it when it returns. */
export function change(changes) {
  Object.assign(shown, changes);
  drawPage();
}

/** Shows what `look` resolves with, or that the server does not answer. */
export async function refresh() {
  try {
    change({ ...(await look()), connection: "live", liveAt: new Date().toISOString() });
  } catch (error) {
    change({ connection: "stopped", why: error.message });
  }
}

/** Draws the page, and looks again and again while it is seen. */
export async function startPage(Page, first, lookAtServer, everyMs) {
  look = lookAtServer;
  drawPage = () => {
    const focused = document.activeElement;
    render(html`<${Page} ...${shown} />`, document.body);
    // Without `moveBefore`, an element that moves loses it.
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  };
  change(first);
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The server's answer. Throws what it says if it refuses. */
export async function ask(path, request) {
  // Not relative to the page's address, which may have a password: browsers refuse to fetch such a one.
  const answer = await fetch(new URL(path, location.origin + location.pathname), request).catch(() => {
    throw new Error("The server does not answer.");
  });
  const body = await answer.json().catch(() => {
    const isForbidden = answer.status === 403;
    throw new Error(
      isForbidden ? "You may not do this." : `The server answered with status ${answer.status}.`,
    );
  });
  if (!answer.ok) throw new Error(body.message);
  return body;
}
