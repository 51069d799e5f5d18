export interface Names {
  readonly baseUrl: string;
  readonly clientId: number;
  readonly apiKey: string;
}
