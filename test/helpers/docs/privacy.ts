import type { Names as Attribution } from "./attribution.js";

export interface Names {
  readonly users: Attribution["users"] & {
    update(id: number, row: { affiliate: object | null }): Promise<void>;
  };
}
