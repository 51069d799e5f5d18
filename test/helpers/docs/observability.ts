export interface Names {
  readonly pager: { alert(message: string): void };
}
