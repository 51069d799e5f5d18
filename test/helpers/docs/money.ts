interface Order {
  readonly id: string;
  readonly email: string;
  readonly total: number;
  readonly currency: string;
}

export interface Names {
  readonly orders: { complete(id: string): Promise<Order> };
  readonly rates: { convert(amount: number, from: string, to: string): Promise<number> };
}
