export interface Names {
  readonly users: { update(id: number, row: { affiliate: object | null }): Promise<void> };
}
