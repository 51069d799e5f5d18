import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "@prisma/client";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });

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
