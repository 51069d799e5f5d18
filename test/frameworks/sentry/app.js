import * as Sentry from "@sentry/node";
import { createShop } from "./shop.js";

const app = createShop();
Sentry.setupExpressErrorHandler(app);

export const server = app.listen(process.env.PORT ?? 3000);
export const flush = () => Sentry.flush(5_000);
