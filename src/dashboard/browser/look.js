// Asks the server for the state and the dead letters, again and again while the page is looked at.
import { change, shown } from "../../browser/page.js";

const EVERY_MS = 2_000;
/** Dead letters are also read every so often: one may have come as another went. */
const LETTERS_EVERY = 10;
const FORGET_MS = 5 * 60_000;
const FEW = 50;
const MANY = 1_000;

let timer;
let looks = 0;
let dead = "";
let limit = FEW;

export async function look({ letters = false } = {}) {
  clearTimeout(timer);
  try {
    const state = await read("state");
    showState(state);
    const now = JSON.stringify(state.outbox.dead);
    if (letters || dead !== now || looks % LETTERS_EVERY === 0) {
      const isRead = await readLetters(state.outbox.dead);
      dead = isRead ? now : "";
    }
    looks += 1;
  } catch (error) {
    change({ connection: "stopped", why: error.message });
    if (error instanceof Forbidden) return;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

export function startLooking() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else look();
  });
  look();
}

/** The processes that have answered: a load balancer may choose another one each time. */
const processes = new Map();

function showState({ at, outbox, process }) {
  const now = Date.parse(at);
  processes.set(process.id, { ...process, heardAt: now });
  for (const [id, { heardAt }] of processes) if (now - heardAt > FORGET_MS) processes.delete(id);
  const chosen = processes.has(shown.chosen) ? shown.chosen : process.id;
  const liveAt = new Date().toISOString();
  change({ connection: "live", liveAt, outbox, processes: [...processes.values()], chosen });
}

/** `counts`: how many dead letters there are, by reason. */
async function readLetters(counts) {
  const { filter } = shown;
  const most = limit;
  try {
    const { letters, more } = await read("dead-letters", { ...filter, limit: most });
    // Others were chosen meanwhile, and their answer may have come first.
    if (filter !== shown.filter || most !== limit) return false;
    change({ list: { letters, filter, counts, more, canShowMore: more && most === FEW }, unreadable: "" });
    return true;
  } catch (error) {
    if (error instanceof Forbidden) throw error;
    change({ unreadable: error.message });
    return false;
  }
}

export function choose(filter) {
  limit = FEW;
  change({ filter: { ...shown.filter, ...filter } });
  return look({ letters: true });
}

export function showMore() {
  limit = MANY;
  return look({ letters: true });
}

// What the page asks of its server, with the token that shows that this page asks.
let token = "";

/** The reader may not see this. */
class Forbidden extends Error {}

/** Throws if the server refuses or does not answer. */
export async function read(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  const document = await answerTo(path + search, {});
  if (document.token !== undefined) token = document.token;
  return document;
}

/** Throws the server's answer if it refuses. */
export function post(path, body) {
  const headers = { "content-type": "application/json", "x-affiliate-token": token };
  return answerTo(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function answerTo(path, request) {
  const answer = await fetch(path, request).catch(() => {
    throw new Error("The server does not answer.");
  });
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  if (!isJson) {
    if (answer.status === 403 && request.method) throw new Error("You may look, and not act.");
    if (answer.status === 403 || answer.redirected) throw new Forbidden("You may no longer see this page.");
    throw new Error(`The server answered with status ${answer.status}.`);
  }
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.message);
  return document;
}
