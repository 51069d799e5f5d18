import type { VirtualClock } from "../clock.js";
import type { EventRecord } from "../event-record.js";
import type { Ledger } from "../ledger.js";
import type { TrackerProcess } from "../process.js";
import type { Happening, Step } from "../schedule.js";
import { Link } from "./link.js";
import type { SqlServer } from "./server.js";

/** A host's own open transaction, on a connection that does not fail, in which it reports. */
export interface HostTransaction {
  readonly process: TrackerProcess;
  readonly over: Promise<void>;
  /** It ends, whatever it waits for. */
  end(): void;
  /** Its process is killed: the server undoes it. */
  undo(): void;
}

interface Around {
  readonly clock: VirtualClock;
  readonly ledger: Ledger;
  readonly process: TrackerProcess;
  readonly server: SqlServer;
}

const LOOK_MS = 50;

export function beginTransaction(
  { whats, ms, commits }: Extract<Step, { do: "transaction" }>,
  { clock, ledger, process, server }: Around,
): HostTransaction {
  const { owner, program } = process;
  const reported: { readonly record: EventRecord; readonly reportedAs: number }[] = [];
  let isDue = false;
  let link: Link | undefined;

  async function run(): Promise<void> {
    const own = await connect();
    link = own;
    try {
      await own.request({ text: server.kind === "mysql" ? "start transaction" : "begin" });
      const until = clock.monotonic() + ms;
      for (const what of whats) await report(own, what);
      while (clock.monotonic() < until && !isDue) {
        await new Promise<void>((resolve) => clock.after(owner, LOOK_MS, resolve));
      }
      if (commits) for (const { record, reportedAs } of reported) ledger.commits(record, owner, reportedAs);
      await own.request({ text: commits ? "commit" : "rollback" });
      for (const { record } of reported) ledger.hasEnded(record, commits);
      ledger.write(`${owner.name}: its transaction ${commits ? "commits" : "is rolled back"}`);
    } catch (error) {
      ledger.write(`${owner.name}: its transaction fails: ${error}`);
    } finally {
      own.destroy();
    }
  }

  async function report(own: Link, what: Happening): Promise<void> {
    const record = ledger.recordOf(process.eventOf(what), program, what.number);
    const reportedAs = ledger.nextOrder();
    ledger.reports(record, reportedAs);
    ledger.write(`${owner.name}: reports ${record.name} in a transaction`);
    const query = (text: string, values?: readonly unknown[]) => own.request({ text, values });
    const receipt = await process.report(what, { query });
    ledger.write(
      `${owner.name}: the receipt of ${record.name} in a transaction says ${JSON.stringify(receipt)}`,
    );
    if (receipt.outcome === "duplicate" && record.reports === 1) {
      ledger.breaks("what is new is no duplicate", record.name);
    }
    if (receipt.outcome === "queued") reported.push({ record, reportedAs });
  }

  function connect(): Promise<Link> {
    const meeting = { serverFault: undefined, random: () => 0.5 };
    return new Promise((resolve) => {
      clock.soon(clock.outside, () =>
        server.connect((session) => {
          const own = new Link(session, { server, clock, owner, meeting });
          if (!owner.isAlive) own.destroy();
          clock.soon(owner, () => resolve(own));
        }),
      );
    });
  }

  return {
    process,
    over: run(),
    end() {
      isDue = true;
    },
    undo: () => link?.destroy(),
  };
}
