import { PrismaMariaDb } from "@prisma/adapter-mariadb";
import { PrismaClient } from "@prisma/client";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

// #region transaction
const prisma = new PrismaClient({ adapter: new PrismaMariaDb(process.env.DATABASE_URL) });

const inPrisma = (tx) => ({ query: (text) => tx.$queryRawUnsafe(text) });

export async function checkout({ attribution, ...order }) {
  await prisma.$transaction(async (tx) => {
    const { id, email, total } = await tx.order.create({ data: order });
    await tracker.trackPayment(paymentOf({ id, email, total }), attribution, { transaction: inPrisma(tx) });
  });
}
// #endregion

export const close = () => prisma.$disconnect();
