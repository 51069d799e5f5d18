import "./attribution.js";

export interface Names {
  readonly users: { get(id: number): Promise<{ readonly role: string } | undefined> };
}
