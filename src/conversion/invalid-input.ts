/** Why a report is no event. It shows no value but an amount or the text of a missing id. */
export interface InvalidInput {
  /** Names the field. */
  readonly invalid: string;
  /** Set if it is no mistake: a payment of zero, such as a trial or a free invoice. */
  readonly skip?: "zero";
}
