// What the app needs to know of the service, and the buttons that make it fail.
import { $, h, post } from "./dom.js";

/** Each fault: its mode, its name on the button, and what it does. */
const modes = [
  ["ok", "ok", "All is well."],
  ["down", "down", "The port refuses connections."],
  ["slow", "slow", "Requests are recorded at once and answered late."],
  ["500", "500", "Every request fails with 500 Internal Server Error; nothing is recorded."],
  ["503", "503", "Every request fails with 503 Service Unavailable; nothing is recorded."],
  ["429", "429", "Every request fails with 429 Too Many Requests and Retry-After; nothing is recorded."],
  ["401", "401", "Every request fails with 401 Unauthorized; nothing is recorded."],
  ["hang", "hang", "Requests are read and never answered; nothing is recorded."],
  [
    "reset",
    "reset before recording",
    "Requests are read, then the connection is reset; nothing is recorded.",
  ],
  [
    "reset-after",
    "reset after recording",
    "Requests are recorded, then the connection is reset instead of an answer.",
  ],
  ["garbage", "garbage", "The answer is not HTTP; nothing is recorded."],
].map(([mode, name, meaning]) => ({ mode, name, meaning }));

/** A fault's name. */
export function nameOf(mode) {
  return modes.find((known) => known.mode === mode).name;
}

export function showAbout({ url, clientId, apiKey, file }) {
  const copy = h("button", { type: "button", className: "small", textContent: "Copy" });
  copy.setAttribute("aria-label", "Copy the API key");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(apiKey);
    copy.textContent = "Copied";
  });
  const pairs = [
    ["Base URL", h("code", {}, url)],
    ["Client id", h("code", {}, String(clientId))],
    ["API key", h("code", {}, apiKey), copy],
    ["Ledger", file ? h("code", {}, file) : "in memory"],
    ["API description", h("a", { href: `${url}/openapi.json` }, "OpenAPI")],
  ];
  $("about").replaceChildren(
    ...pairs.map(([term, ...values]) => h("div", {}, h("dt", {}, term), h("dd", {}, values))),
  );
}

let fault = { mode: "ok", until: null };

export function offerModes() {
  for (const { mode, name, meaning } of modes) {
    const button = h("button", { type: "button", value: mode, title: meaning, textContent: name });
    button.addEventListener("click", () => setFault(mode));
    $("modes").append(button);
  }
}

async function setFault(mode) {
  const forMs = mode === "ok" ? undefined : Number($("duration").value) || undefined;
  await post("fault", { mode, forMs, delayMs: Number($("delay").value) || undefined });
}

/** Shows the fault in force; without a new one, counts down. */
export function showFault(current = fault) {
  fault = current;
  const { name, meaning } = modes.find(({ mode }) => mode === fault.mode);
  const left =
    fault.until === null ? null : Math.max(0, Math.ceil((Date.parse(fault.until) - Date.now()) / 1000));
  $("fault").textContent = left === null ? name : `${name}, ok again in ${left} s`;
  $("fault").dataset.mode = fault.mode;
  // A countdown that is read out every second would drown all else.
  $("fault").setAttribute("aria-live", left === null ? "polite" : "off");
  $("meaning").textContent = meaning;
  for (const button of $("modes").children)
    button.setAttribute("aria-pressed", String(button.value === fault.mode));
}

export function showDecisions(decisions) {
  const pairs = decisions.map(({ section, open, decision }) => [
    h("dt", {}, `${section}: ${open}`),
    h("dd", {}, decision),
  ]);
  $("decisions").replaceChildren(...pairs.flat());
}
