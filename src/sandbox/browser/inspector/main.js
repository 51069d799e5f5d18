// The inspector's page: shows what the sandbox tells it, whenever that has changed.
import { $, post, time } from "./dom.js";
import { startShortcuts } from "./keys.js";
import { openNamed, showRequests } from "./requests.js";
import { attempt, countDown, offerModes, showAbout, showDecisions, showFault } from "./service.js";
import { readNews, showAffiliates, showVisitors } from "./visitors.js";

const filters = ["search", "affiliate", "state", "containing", "answered"];
/** How much of each list is asked for; the rest is the sandbox's own choice. */
const counts = new Map();
let source;

/** Asks for the state as the filters say, and again whenever they change. */
function connect() {
  source?.close();
  const view = new URLSearchParams(counts.entries());
  for (const name of filters) if ($(name).value !== "") view.set(name, $(name).value);
  source = new EventSource(`events?${view}`);
  source.addEventListener("about", ({ data }) => {
    const { about, decisions } = JSON.parse(data);
    showAbout(about);
    showDecisions(decisions);
  });
  source.addEventListener("message", ({ data }) => {
    const state = JSON.parse(data);
    showFault(state);
    showVisitors(
      state,
      ["search", "affiliate", "state"].some((name) => view.has(name)),
    );
    showAffiliates(state.affiliates);
    showRequests(state, view.has("containing") || view.has("answered"));
    readNews(state);
    setConnection("live");
  });
  source.addEventListener("error", () => setConnection("stopped"));
}

/** Where the focus was when the buttons went off, which takes it away. */
let focused;

function setConnection(connection) {
  if (document.body.dataset.connection === connection) return;
  document.body.dataset.connection = connection;
  const isLive = connection === "live";
  if (!isLive) {
    focused = document.activeElement;
    $("fault").textContent = "The sandbox has stopped.";
  }
  for (const set of document.querySelectorAll("fieldset")) set.disabled = !isLive;
  if (isLive && document.activeElement === document.body) focused?.focus();
  $("connection").replaceChildren(
    ...(isLive ? ["live"] : ["No connection to the sandbox since ", time(new Date().toISOString())]),
  );
}

offerModes();
connect();
startShortcuts();
setInterval(countDown, 1000);
for (const name of filters) $(name).addEventListener("input", connect);
document.addEventListener("click", ({ target }) => {
  const { more, shown } = target.dataset;
  if (more === undefined) return;
  counts.set(more, Number(shown) + 100);
  connect();
});
addEventListener("hashchange", openNamed);
openNamed();
$("request").addEventListener("close", () => {
  if (location.hash.startsWith("#request-")) history.pushState(null, "", " ");
});
$("clear").addEventListener("click", () => {
  if (confirm("Forget all clicks, registrations, payments and requests?")) attempt(() => post("clear", {}));
});
