import { ask, html, shown, startPage } from "../../browser/page.js";
import { Frame, foreign, time } from "../../browser/pieces.js";
import { addressOf, DeadLetters, first } from "./letters.js";
import { Endpoints, LastHour, NotReported, pausedOf, Summary, Waiting } from "./numbers.js";

function Dashboard(shown) {
  const { outbox, process } = shown;
  document.title = `${process && pausedOf(process).length > 0 ? "paused · " : ""}Affiliate delivery`;
  const name =
    process &&
    html`<p id="process" class="quiet">${foreign(process.name)}, counting since ${time(process.since)}</p>`;
  return html`
    <${Frame} title="Affiliate delivery" head=${name} ...${shown}>
      ${
        process &&
        html`
        <${Summary} ...${shown} />
        <${LastHour} ...${process} />
        <${DeadLetters} ...${shown} />
        <div class="pair"><${Waiting} ...${outbox} /><${Endpoints} ...${process} /></div>
        <${NotReported} ...${process} />
      `
      }
    <//>
  `;
}

const LETTERS_EVERY = 10;
const FORGET_MS = 60_000;
let looks = 0;

async function look() {
  const { outbox, process } = await ask("state");
  await readLetters(JSON.stringify(outbox.dead));
  // A load balancer may choose another process each time. The page stays with one.
  const isSame = !shown.process || process.id === shown.process.id;
  const isGone = Date.now() - shown.heardAt > FORGET_MS;
  return { outbox, ...((isSame || isGone) && { process, heardAt: Date.now() }) };
}

/** If others are asked for, or there are more or fewer; and every so often: one may have come as another went. */
async function readLetters(dead) {
  const { filter } = shown;
  looks += 1;
  if (dead === shown.read && looks % LETTERS_EVERY !== 0) return;
  try {
    const list = await ask(addressOf("dead-letters", filter));
    // The answer to a later question may have come first.
    if (filter !== shown.filter) return;
    Object.assign(shown, { list: { ...list, filter }, read: dead, unreadable: "" });
  } catch ({ message }) {
    Object.assign(shown, { read: "", unreadable: message });
  }
}

startPage(Dashboard, first, look, 2_000);
