import type { EventRecord } from "../event-record.js";
import type { TrackerProcess } from "../process.js";
import type { Step } from "../schedule.js";
import type { World } from "../world.js";
import { Link } from "./link.js";
import type { SqlServer } from "./server.js";

type TransactionStep = Extract<Step, { do: "transaction" }>;

const LOOK_MS = 50;

/** A host's own open transaction, on a connection that does not fail, in which it reports. */
export class HostTransaction {
  readonly #step: TransactionStep;
  readonly #world: World;
  readonly #process: TrackerProcess;
  readonly #server: SqlServer;
  readonly #reported: { readonly record: EventRecord; readonly reportedAs: number }[] = [];
  #isDue = false;
  #link: Link | undefined;

  constructor(
    step: TransactionStep,
    { world, process, server }: { world: World; process: TrackerProcess; server: SqlServer },
  ) {
    this.#step = step;
    this.#world = world;
    this.#process = process;
    this.#server = server;
  }

  /** Its process is killed: the server undoes it. */
  endsWith(process: TrackerProcess | undefined): boolean {
    if (process !== this.#process) return false;
    this.#link?.destroy();
    return true;
  }

  /** It ends, whatever it waits for. */
  end(): void {
    this.#isDue = true;
  }

  async run(): Promise<void> {
    const { clock, ledger } = this.#world;
    const { owner } = this.#process;
    const link = await this.#connect();
    this.#link = link;
    try {
      await link.request({ text: this.#server.kind === "mysql" ? "start transaction" : "begin" });
      const until = clock.monotonic() + this.#step.ms;
      for (const what of this.#step.whats) await this.#report(link, what);
      while (clock.monotonic() < until && !this.#isDue) await this.#sleep(LOOK_MS);
      const { commits } = this.#step;
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

  async #report(link: Link, what: TransactionStep["whats"][number]): Promise<void> {
    const { ledger } = this.#world;
    const process = this.#process;
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
    const { clock } = this.#world;
    const { owner } = this.#process;
    const meeting = { serverFault: undefined, random: () => 0.5 };
    return new Promise((resolve) => {
      clock.soon(clock.outside, () =>
        this.#server.connect((session) => {
          const link = new Link(session, { server: this.#server, clock, owner, meeting });
          if (!owner.isAlive) link.destroy();
          clock.soon(owner, () => resolve(link));
        }),
      );
    });
  }

  #sleep(ms: number): Promise<void> {
    const { clock } = this.#world;
    return new Promise((resolve) => void clock.after(this.#process.owner, ms, resolve));
  }
}
