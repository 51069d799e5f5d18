import type { EventRecord } from "../event-record.js";
import type { TrackerProcess } from "../process.js";
import type { Happening, Step } from "../schedule.js";
import type { World } from "../world.js";
import { Link } from "./link.js";
import type { SqlServer } from "./server.js";

interface Of {
  readonly step: Extract<Step, { do: "transaction" }>;
  readonly world: World;
  readonly process: TrackerProcess;
  readonly server: SqlServer;
}

const LOOK_MS = 50;

/** A host's own open transaction, on a connection that does not fail, in which it reports. */
export class HostTransaction {
  readonly #of: Of;
  readonly #reported: { readonly record: EventRecord; readonly reportedAs: number }[] = [];
  #isDue = false;
  #link: Link | undefined;

  constructor(of: Of) {
    this.#of = of;
  }

  /** Its process is killed: the server undoes it. */
  endsWith(process: TrackerProcess | undefined): boolean {
    if (process !== this.#of.process) return false;
    this.#link?.destroy();
    return true;
  }

  /** It ends, whatever it waits for. */
  end(): void {
    this.#isDue = true;
  }

  async run(): Promise<void> {
    const { step, world, process, server } = this.#of;
    const { clock, ledger } = world;
    const { owner } = process;
    const { commits } = step;
    const link = await this.#connect();
    this.#link = link;
    try {
      await link.request({ text: server.kind === "mysql" ? "start transaction" : "begin" });
      const until = clock.monotonic() + step.ms;
      for (const what of step.whats) await this.#report(link, what);
      while (clock.monotonic() < until && !this.#isDue) await this.#sleep(LOOK_MS);
      if (commits)
        for (const { record, reportedAs } of this.#reported) ledger.commits(record, owner, reportedAs);
      await link.request({ text: commits ? "commit" : "rollback" });
      for (const { record } of this.#reported) ledger.hasEnded(record, commits);
      ledger.write(`${owner.name}: its transaction ${commits ? "commits" : "is rolled back"}`);
    } catch (error) {
      ledger.write(`${owner.name}: its transaction fails: ${error}`);
    } finally {
      link.destroy();
    }
  }

  async #report(link: Link, what: Happening): Promise<void> {
    const { process, world } = this.#of;
    const { ledger } = world;
    const record = ledger.recordOf(process.eventOf(what), process.program, what.number);
    const reportedAs = ledger.nextOrder();
    ledger.reports(record, reportedAs);
    ledger.write(`${process.owner.name}: reports ${record.name} in a transaction`);
    const query = (text: string, values?: readonly unknown[]) => link.request({ text, values });
    const receipt = await process.report(what, { query });
    ledger.write(
      `${process.owner.name}: the receipt of ${record.name} in a transaction says ${JSON.stringify(receipt)}`,
    );
    if (receipt.outcome === "duplicate" && record.reports === 1) {
      ledger.breaks("what is new is no duplicate", record.name);
    }
    if (receipt.outcome === "queued") this.#reported.push({ record, reportedAs });
  }

  #connect(): Promise<Link> {
    const { world, process, server } = this.#of;
    const { clock } = world;
    const { owner } = process;
    const meeting = { serverFault: undefined, random: () => 0.5 };
    return new Promise((resolve) => {
      clock.soon(clock.outside, () =>
        server.connect((session) => {
          const link = new Link(session, { server, clock, owner, meeting });
          if (!owner.isAlive) link.destroy();
          clock.soon(owner, () => resolve(link));
        }),
      );
    });
  }

  #sleep(ms: number): Promise<void> {
    const { world, process } = this.#of;
    return new Promise((resolve) => void world.clock.after(process.owner, ms, resolve));
  }
}
