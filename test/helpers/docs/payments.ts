export interface Names {
  readonly orders: { keepLead(lead: { receiptId: string; leadId: number }): void };
}
