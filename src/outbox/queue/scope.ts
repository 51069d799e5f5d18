/** Whose events are meant: those of one client id, or all as long as it is `undefined`. */
export class Scope {
  clientId: number | undefined;

  constructor(clientId?: number) {
    this.clientId = clientId;
  }

  /** SQL: the condition that rows of `events` or `queues` are meant. */
  get condition(): string {
    return this.clientId === undefined ? "0 = 0" : `destination = ${this.clientId}`;
  }

  has({ destination }: { readonly destination: number }): boolean {
    return this.clientId === undefined || this.clientId === destination;
  }
}
