/** What a command sees of where it runs. */
export interface Terminal {
  stdout(line: string): void;
  stderr(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person is looking, so that colours make sense. */
  readonly isTerminal: boolean;
}
