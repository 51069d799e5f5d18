import { PrismaClient } from "@prisma/client";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const url = process.env.DATABASE_URL;
const adapter = url.startsWith("postgres")
  ? new (await import("@prisma/adapter-pg")).PrismaPg({ connectionString: url })
  : new (await import("@prisma/adapter-mariadb")).PrismaMariaDb(url);
// For a slow machine: its own defaults are 2 s and 5 s.
const prisma = new PrismaClient({ adapter, transactionOptions: { maxWait: 30_000, timeout: 60_000 } });

// #region adapter
const inPrisma = (tx) => ({ query: (text, values = []) => tx.$queryRawUnsafe(text, ...values) });
// #endregion

export async function checkout({ affiliate, ...order }) {
  await prisma.$transaction(async (tx) => {
    const { id, email, total } = await tx.order.create({ data: order });
    await tracker.trackPayment(paymentOf({ id, email, total }), affiliate, { transaction: inPrisma(tx) });
  });
}

export const close = () => prisma.$disconnect();
