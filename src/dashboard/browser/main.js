// The dashboard's page: asks for the state again and again while it is looked at.
import { startDecisions } from "./decisions.js";
import { $, time } from "./elements.js";
import { readLetters, startLetters } from "./letters.js";
import { patch } from "./patch.js";
import { Forbidden, read } from "./server.js";
import { showState } from "./state.js";

const EVERY_MS = 2_000;
/** Dead letters are read when their number changes, and every so many times: one may have come as another went. */
const LETTERS_EVERY = 10;

let timer;
let looks = 0;
let dead = "";

/** Asks for the state, and for the dead letters where they may have changed. */
async function look({ letters = false } = {}) {
  clearTimeout(timer);
  try {
    const state = await read("state");
    showState(state);
    const now = JSON.stringify(state.outbox.dead);
    setConnection("live", ["live"]);
    if (letters || dead !== now || looks % LETTERS_EVERY === 0) {
      const isRead = await readLetters(state.outbox.dead);
      dead = isRead ? now : "";
    }
    looks += 1;
  } catch (error) {
    setConnection("stopped", [error.message, " Nothing new since ", lastTime(), "."]);
    if (error instanceof Forbidden) return;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

let liveAt;

function lastTime() {
  return liveAt === undefined ? "the start" : time(liveAt);
}

function setConnection(connection, words) {
  const isLive = connection === "live";
  if (isLive) liveAt = new Date().toISOString();
  document.body.dataset.connection = connection;
  for (const set of document.querySelectorAll("fieldset")) set.disabled = !isLive;
  patch($("connection"), words);
}

startLetters(() => look({ letters: true }));
startDecisions(() => look({ letters: true }));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else look();
});
look();
