// The dashboard's page.
import { html, startPage } from "../../browser/page.js";
import { time } from "../../browser/pieces.js";
import { Question } from "./decisions.js";
import { DeadLetters } from "./letters.js";
import { startLooking } from "./look.js";
import { LastHour, Process, ProcessChoice } from "./process.js";
import { Endpoints, Figures, pausedOf, Summary, Waiting } from "./state.js";

function Dashboard(shown) {
  const { connection, outbox, processes, chosen } = shown;
  const isStopped = connection === "stopped";
  const process = processes.find(({ id }) => id === chosen);
  document.title = `${process && pausedOf(process).length > 0 ? "paused · " : ""}Affiliate delivery`;
  return html`
    <header>
      <h1>Affiliate delivery</h1>
      <${ProcessChoice} ...${{ process, processes }} />
      <p id="connection" data-connection=${connection} role="status">${connectionIn(shown)}</p>
    </header>
    <main>
      <div id="summary" role="status">${process && html`<${Summary} ...${{ outbox, process }} />`}</div>
      <dl id="figures" class="tiles">${process && html`<${Figures} ...${{ outbox, process }} />`}</dl>
      <${LastHour} ...${{ process, liveAt: shown.liveAt }} />
      <${DeadLetters} ...${shown} process=${process} isStopped=${isStopped} />
      <div class="pair">
        <${Waiting} outbox=${outbox} />
        <${Endpoints} endpoints=${process?.endpoints} />
      </div>
      <${Process} process=${process} />
    </main>
    <${Question} question=${shown.question} />
  `;
}

function connectionIn({ connection, liveAt, why }) {
  if (connection !== "stopped") return connection;
  return html`${why} Nothing new since ${liveAt === undefined ? "the start" : time(liveAt)}.`;
}

startPage(Dashboard, {
  connection: "connecting",
  processes: [],
  filter: { kind: "", reason: "" },
  question: { title: "Question", answers: [] },
});
startLooking();
