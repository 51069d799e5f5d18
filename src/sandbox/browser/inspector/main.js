// The inspector's page: draws what the sandbox tells it, whenever that has changed.
import { $, post } from "./dom.js";
import { filterRequests, showRequests } from "./requests.js";
import { offerModes, showAbout, showDecisions, showFault } from "./service.js";
import { readNews, showAffiliates, showVisitors } from "./visitors.js";

/** The parts of the page are drawn again only when what they show has changed, so that a selection in one stays. */
const drawn = {};

function draw(part, show, data) {
  const key = JSON.stringify(data);
  if (drawn[part] === key) return;
  drawn[part] = key;
  show(data);
}

function connect() {
  const source = new EventSource("events");
  source.addEventListener("message", ({ data }) => {
    const state = JSON.parse(data);
    showFault(state.fault);
    draw("about", showAbout, state.about);
    draw("affiliates", showAffiliates, state.affiliates);
    draw("visitors", showVisitors, state.visitors);
    draw("requests", showRequests, state.requests);
    draw("decisions", showDecisions, state.decisions);
    readNews(state.visitors);
    setConnection("live");
  });
  source.addEventListener("error", () => setConnection("waiting", "the sandbox has stopped; waiting for it"));
}

function setConnection(state, text = state) {
  $("connection").dataset.state = state;
  if ($("connection").textContent !== text) $("connection").textContent = text;
}

offerModes();
connect();
setInterval(() => showFault(), 1000);
$("search").addEventListener("input", filterRequests);
$("answered").addEventListener("change", filterRequests);
$("clear").addEventListener("click", async () => {
  if (confirm("Forget all clicks, registrations, payments and requests?")) await post("clear", {});
});
