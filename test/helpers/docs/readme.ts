export interface Names {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey: string;
  checkout(order: unknown): Promise<{
    readonly paymentId: string;
    readonly customerEmail: string;
    readonly leadValue: number;
  }>;
}
