/** What a check found out, in one line for a person. */
export interface Finding {
  readonly is: "well" | "wrong" | "note" | "not-done";
  readonly text: string;
}

export const well = (text: string): Finding => ({ is: "well", text });
export const wrong = (text: string): Finding => ({ is: "wrong", text });
export const note = (text: string): Finding => ({ is: "note", text });
export const notDone = (text: string): Finding => ({ is: "not-done", text });
